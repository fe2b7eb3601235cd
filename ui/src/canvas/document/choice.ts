/** Which items a choice means: with their groups, and what frames carry. Pure. */

import { inReadingOrder, overlap } from './geometry';
import type { Box, Item } from './items';

/** The ids with everybody of their groups. */
export function withGroups(list: readonly Item[], ids: readonly string[]): readonly string[] {
  const wanted = new Set(ids);
  const groups = new Set(
    list.filter(({ id, group }) => group !== null && wanted.has(id)).map(({ group }) => group),
  );
  return list.filter(({ id, group }) => wanted.has(id) || groups.has(group)).map(({ id }) => id);
}

/** The items and all that lies in frames among them; what is locked stays. */
export function carried(list: readonly Item[], ids: readonly string[]): readonly Item[] {
  const taken = new Set(
    list.filter((one) => ids.includes(one.id) && !one.locked).map(({ id }) => id),
  );
  // Frames may lie in frames; a document may even say that two carry each other.
  for (let before = -1; before !== taken.size;) {
    before = taken.size;
    for (const { id, frame, locked } of list)
      if (frame !== null && !locked && taken.has(frame)) taken.add(id);
  }
  return list.filter(({ id }) => taken.has(id));
}

/** What a drawn box chooses: all that it touches, of frames those that lie in it. */
export function within(list: readonly Item[], box: Box): readonly string[] {
  const inside = (one: Item): boolean =>
    one.x >= box.x &&
    one.y >= box.y &&
    one.x + one.w <= box.x + box.w &&
    one.y + one.h <= box.y + box.h;
  const touched = list.filter((one) => (one.kind === 'frame' ? inside(one) : overlap(one, box)));
  return withGroups(
    list,
    touched.filter(({ locked }) => !locked).map(({ id }) => id),
  );
}

/** The item before or after one in reading order; null at the end. */
export function following(list: readonly Item[], id: string | null, by: 1 | -1): Item | null {
  const order = inReadingOrder(list);
  if (id === null) return (by === 1 ? order[0] : order.at(-1)) ?? null;
  const at = order.findIndex((one) => one.id === id);
  if (at < 0) return order[0] ?? null;
  return order[at + by] ?? null;
}
