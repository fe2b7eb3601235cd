/** Connections between items: which there are, and the line that shows one. */

import type { Board } from './board';
import { centre } from './geometry';
import { TO, type Box, type Item } from './items';

/**
 * Connects the first item with each other one; where all of them are connected, takes that back.
 * Each connection is a field of its own, so that two people's are both kept.
 */
export function connectItems(board: Board, items: readonly Item[]): void {
  const [first, ...others] = items;
  if (first === undefined || others.length === 0) return;
  const joined = others.every(
    (other) => first.to.includes(other.id) || other.to.includes(first.id),
  );
  board.act(() => {
    for (const other of others) {
      if (!joined) board.fields.get(first.id)?.set(TO + other.id, true);
      else {
        board.fields.get(first.id)?.delete(TO + other.id);
        board.fields.get(other.id)?.delete(TO + first.id);
      }
    }
  });
}

/** A curve from the side of a box that faces the other to the other's, as an SVG path. */
export function lineBetween(from: Box, to: Box): string {
  const [a, b] = [centre(from), centre(to)];
  const across = Math.abs(b.x - a.x) - (from.w + to.w) / 2;
  const down = Math.abs(b.y - a.y) - (from.h + to.h) / 2;
  const flat = across > down;
  const sign = (flat ? b.x - a.x : b.y - a.y) < 0 ? -1 : 1;
  const start = flat
    ? { x: a.x + (sign * from.w) / 2, y: a.y }
    : { x: a.x, y: a.y + (sign * from.h) / 2 };
  const end = flat
    ? { x: b.x - sign * (to.w / 2 + GAP), y: b.y }
    : { x: b.x, y: b.y - sign * (to.h / 2 + GAP) };
  const bend =
    (sign * Math.max(BEND, flat ? Math.abs(end.x - start.x) : Math.abs(end.y - start.y))) / 2;
  const [dx, dy] = flat ? [bend, 0] : [0, bend];
  const points = [
    [start.x, start.y],
    [start.x + dx, start.y + dy],
    [end.x - dx, end.y - dy],
    [end.x, end.y],
  ].map(([x = 0, y = 0]) => `${Math.round(x)} ${Math.round(y)}`);
  const [first, ...curve] = points;
  return `M${first} C${curve.join(' ')}`;
}

const GAP = 3;
const BEND = 40;
