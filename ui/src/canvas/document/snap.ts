/** Snapping of a moved or resized box to the edges and centres of others, else to a grid. Pure. */

import type { Box } from './items';

export const GRID = 8;

/** A line that shows what was snapped to: at `at`, from one end of what it joins to the other. */
export interface Guide {
  readonly axis: 'x' | 'y';
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

export interface Snapped {
  readonly dx: number;
  readonly dy: number;
  readonly guides: readonly Guide[];
}

type Edge = 'start' | 'middle' | 'end';
const ALL: readonly Edge[] = ['start', 'middle', 'end'];

/** The correction of a move, so that an edge or the centre meets another's within `reach`. */
export function snapMove(box: Box, others: readonly Box[], reach: number): Snapped {
  const x = nearest(box, others, 'x', ALL, reach);
  const y = nearest(box, others, 'y', ALL, reach);
  return joined(box, x, y);
}

/** The correction of the corner that a resize moves: its right or left, bottom or top edge. */
export function snapEdges(
  box: Box,
  edges: { readonly x: Edge | null; readonly y: Edge | null },
  others: readonly Box[],
  reach: number,
): Snapped {
  const x = edges.x === null ? NONE : nearest(box, others, 'x', [edges.x], reach);
  const y = edges.y === null ? NONE : nearest(box, others, 'y', [edges.y], reach);
  return joined(box, x, y);
}

/** The nearest multiple of the grid. */
export function onGrid(value: number): number {
  // No negative zero: it would be another value in a document.
  return Math.round(value / GRID) * GRID + 0;
}

interface Found {
  readonly by: number | null;
  readonly at: number;
  readonly other: Box | null;
}

const NONE: Found = { by: 0, at: 0, other: null };

function nearest(
  box: Box,
  others: readonly Box[],
  axis: 'x' | 'y',
  edges: readonly Edge[],
  reach: number,
): Found {
  let best: Found = { by: null, at: 0, other: null };
  for (const other of others) {
    for (const theirs of ALL) {
      const at = placeOf(other, axis, theirs);
      for (const ours of edges) {
        // A centre meets a centre only: anything else would pull without a reason to see.
        if ((ours === 'middle') !== (theirs === 'middle')) continue;
        const by = at - placeOf(box, axis, ours);
        if (Math.abs(by) <= reach && (best.by === null || Math.abs(by) < Math.abs(best.by)))
          best = { by, at, other };
      }
    }
  }
  return best;
}

function placeOf(box: Box, axis: 'x' | 'y', edge: Edge): number {
  const [start, side] = axis === 'x' ? [box.x, box.w] : [box.y, box.h];
  return start + { start: 0, middle: side / 2, end: side }[edge];
}

function joined(box: Box, x: Found, y: Found): Snapped {
  const dx = x.by ?? onGrid(box.x) - box.x;
  const dy = y.by ?? onGrid(box.y) - box.y;
  const guides: Guide[] = [];
  const at = { x: box.x + dx, y: box.y + dy, w: box.w, h: box.h };
  if (x.other !== null) guides.push(guide('x', x.at, at, x.other));
  if (y.other !== null) guides.push(guide('y', y.at, at, y.other));
  return { dx, dy, guides };
}

function guide(axis: 'x' | 'y', at: number, a: Box, b: Box): Guide {
  if (axis === 'x')
    return { axis, at, from: Math.min(a.y, b.y), to: Math.max(a.y + a.h, b.y + b.h) };
  return { axis, at, from: Math.min(a.x, b.x), to: Math.max(a.x + a.w, b.x + b.w) };
}
