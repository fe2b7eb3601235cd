/** Boxes put into rows without gaps and overlaps, in the order they are read. Pure. */

import { around, inReadingOrder } from './geometry';
import type { Box } from './items';
import { onGrid } from './snap';

const GAP = 24;
/** Rows become about as much wider than high as screens are. */
const ASPECT = 1.7;

/** The new left upper corners by index of `boxes`. */
export function tidied(
  boxes: readonly Box[],
): readonly { readonly x: number; readonly y: number }[] {
  const all = around(boxes);
  if (all === null) return [];
  const area = boxes.reduce((sum, { w, h }) => sum + (w + GAP) * (h + GAP), 0);
  const widest = Math.max(...boxes.map(({ w }) => w));
  const most = Math.max(widest, Math.sqrt(area * ASPECT));
  const [left, top] = [onGrid(all.x), onGrid(all.y)];
  const places = new Map<Box, { x: number; y: number }>();
  let [x, y, high] = [left, top, 0];
  for (const box of inReadingOrder(boxes)) {
    if (x > left && x + box.w > left + most) {
      [x, y, high] = [left, y + high + GAP, 0];
    }
    places.set(box, { x, y });
    x = onGrid(x + box.w + GAP);
    high = Math.max(high, onGrid(box.h));
  }
  return boxes.map((box) => places.get(box) ?? { x: box.x, y: box.y });
}
