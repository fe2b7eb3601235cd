/** Boxes on the plane of a dashboard, in canvas units. Pure. */

import type { Box } from './items';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The smallest box around all of them; null around none. */
export function around(boxes: readonly Box[]): Box | null {
  const [first] = boxes;
  if (first === undefined) return null;
  let [left, top, right, bottom] = [first.x, first.y, first.x + first.w, first.y + first.h];
  for (const { x, y, w, h } of boxes) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x + w);
    bottom = Math.max(bottom, y + h);
  }
  return { x: left, y: top, w: right - left, h: bottom - top };
}

/** The box between two corners. */
export function between(a: Point, b: Point): Box {
  return {
    x: Math.min(a.x, b.x),
    y: Math.min(a.y, b.y),
    w: Math.abs(a.x - b.x),
    h: Math.abs(a.y - b.y),
  };
}

export function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

export function centre({ x, y, w, h }: Box): Point {
  return { x: x + w / 2, y: y + h / 2 };
}

export function holds({ x, y, w, h }: Box, point: Point): boolean {
  return point.x >= x && point.x <= x + w && point.y >= y && point.y <= y + h;
}

/** The box that much larger on every side. */
export function grown({ x, y, w, h }: Box, by: number): Box {
  return { x: x - by, y: y - by, w: w + 2 * by, h: h + 2 * by };
}

export function moved(box: Box, dx: number, dy: number): Box {
  return { x: box.x + dx, y: box.y + dy, w: box.w, h: box.h };
}

/** The order in which a person reads: from the top down, and in a row from the left. */
export function inReadingOrder<T extends Box>(list: readonly T[]): readonly T[] {
  const rows: T[][] = [];
  for (const one of [...list].sort((a, b) => a.y - b.y)) {
    const row = rows.at(-1);
    const first = row?.[0];
    // What begins above the middle of a row's first box stands in that row.
    if (row !== undefined && first !== undefined && one.y < first.y + first.h / 2) row.push(one);
    else rows.push([one]);
  }
  return rows.flatMap((row) => row.sort((a, b) => a.x - b.x || a.y - b.y));
}

/** The next box from `from` in a direction: near, and more straight ahead than aside. */
export function neighbour<T extends Box>(
  from: Box,
  list: readonly T[],
  direction: 'left' | 'right' | 'up' | 'down',
): T | null {
  const here = centre(from);
  let best: T | null = null;
  let least = Infinity;
  for (const one of list) {
    const there = centre(one);
    const [dx, dy] = [there.x - here.x, there.y - here.y];
    const ahead = { left: -dx, right: dx, up: -dy, down: dy }[direction];
    const aside = direction === 'left' || direction === 'right' ? Math.abs(dy) : Math.abs(dx);
    if (ahead <= 0) continue;
    const far = ahead + 2 * aside;
    if (far < least) [best, least] = [one, far];
  }
  return best;
}

/** A place for a box near a wished one that covers no other: a spiral of steps, then the wish. */
export function freePlace(wish: Box, others: readonly Box[], step = 24): Point {
  const RINGS = 40;
  for (let ring = 0; ring < RINGS; ring += 1) {
    for (const [dx, dy] of ringOf(ring)) {
      const box = moved(wish, dx * step, dy * step);
      if (!others.some((other) => overlap(grown(box, step / 2), other))) return box;
    }
  }
  return wish;
}

/** The steps at that distance, those to the right and below first. */
function ringOf(ring: number): readonly (readonly [number, number])[] {
  if (ring === 0) return [[0, 0]];
  const all: (readonly [number, number])[] = [];
  for (let along = 0; along <= ring; along += 1)
    all.push([ring, along], [along, ring], [-ring, along], [along, -ring], [ring, -along]);
  return all;
}
