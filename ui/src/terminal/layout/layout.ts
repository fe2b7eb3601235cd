/** How the terminals of one sandbox share the view: a tree of splits. Pure. */

/** `row`: side by side; `column`: one above the other. */
export type Direction = 'row' | 'column';
export type Side = 'left' | 'right' | 'up' | 'down';

export interface Split {
  readonly direction: Direction;
  /** The first part's share of the room, between 0 and 1. */
  readonly share: number;
  readonly first: Layout;
  readonly second: Layout;
}

/** A terminal's id, or two parts. */
export type Layout = string | Split;

/** A rectangle in fractions of the view. */
export interface Place {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The line between two parts; `path` leads to its split: 0 the first part, 1 the second. */
export interface Divider {
  readonly path: readonly number[];
  readonly direction: Direction;
  readonly share: number;
  /** The room of the whole split. */
  readonly room: Place;
}

export const WHOLE: Place = { left: 0, top: 0, width: 1, height: 1 };
const SHARE_MIN = 0.1;
/** Deeper trees have parts too small to read. */
const DEPTH_MAX = 8;
const ID_MAX = 100;

export function panesOf(layout: Layout): readonly string[] {
  if (typeof layout === 'string') return [layout];
  return [...panesOf(layout.first), ...panesOf(layout.second)];
}

/** The layout with `added` beside `pane`, each with half of its room. */
export function splitAt(layout: Layout, pane: string, direction: Direction, added: string): Layout {
  if (typeof layout === 'string') {
    return layout === pane ? { direction, share: 0.5, first: layout, second: added } : layout;
  }
  const { first, second } = layout;
  return {
    ...layout,
    first: splitAt(first, pane, direction, added),
    second: splitAt(second, pane, direction, added),
  };
}

/** The layout of those panes alone that `keep` accepts; the others' room goes to their neighbours. */
export function only(layout: Layout, keep: (pane: string) => boolean): Layout | null {
  if (typeof layout === 'string') return keep(layout) ? layout : null;
  const first = only(layout.first, keep);
  const second = only(layout.second, keep);
  if (first === null || second === null) return first ?? second;
  return first === layout.first && second === layout.second ? layout : { ...layout, first, second };
}

/** All panes in rows of about equal length; null for none. */
export function gridOf(panes: readonly string[]): Layout | null {
  const columns = Math.ceil(Math.sqrt(panes.length));
  const rows: Layout[] = [];
  for (let at = 0; at < panes.length; at += columns) {
    const row = chain(panes.slice(at, at + columns), 'row');
    if (row !== null) rows.push(row);
  }
  return chain(rows, 'column');
}

/** Parts one after the other, each with the same room. */
function chain(parts: readonly Layout[], direction: Direction): Layout | null {
  const [first, ...others] = parts;
  if (first === undefined) return null;
  const second = chain(others, direction);
  return second === null ? first : { direction, share: 1 / parts.length, first, second };
}

export function placesOf(layout: Layout, room: Place = WHOLE): ReadonlyMap<string, Place> {
  if (typeof layout === 'string') return new Map([[layout, room]]);
  const [one, other] = halves(layout, room);
  return new Map([...placesOf(layout.first, one), ...placesOf(layout.second, other)]);
}

export function dividersOf(
  layout: Layout,
  room: Place = WHOLE,
  path: readonly number[] = [],
): readonly Divider[] {
  if (typeof layout === 'string') return [];
  const { direction, share, first, second } = layout;
  const [one, other] = halves(layout, room);
  return [
    { path, direction, share, room },
    ...dividersOf(first, one, [...path, 0]),
    ...dividersOf(second, other, [...path, 1]),
  ];
}

function halves({ direction, share }: Split, room: Place): readonly [Place, Place] {
  const { left, top, width, height } = room;
  if (direction === 'row') {
    const at = width * share;
    return [
      { left, top, width: at, height },
      { left: left + at, top, width: width - at, height },
    ];
  }
  const at = height * share;
  return [
    { left, top, width, height: at },
    { left, top: top + at, width, height: height - at },
  ];
}

/** The layout with another share at the split of `path`, within bounds. */
export function withShare(layout: Layout, path: readonly number[], share: number): Layout {
  if (typeof layout === 'string') return layout;
  const [step, ...rest] = path;
  if (step === undefined) {
    return { ...layout, share: Math.min(1 - SHARE_MIN, Math.max(SHARE_MIN, share)) };
  }
  return step === 0
    ? { ...layout, first: withShare(layout.first, rest, share) }
    : { ...layout, second: withShare(layout.second, rest, share) };
}

/** The pane next to `pane` on that side, or null at the edge: the one nearest to its middle. */
export function neighbour(layout: Layout, pane: string, side: Side): string | null {
  const places = placesOf(layout);
  const from = places.get(pane);
  if (from === undefined) return null;
  let best: { readonly id: string; readonly distance: number } | null = null;
  for (const [id, place] of places) {
    if (!touches(from, place, side)) continue;
    const distance = Math.hypot(middle(place).x - middle(from).x, middle(place).y - middle(from).y);
    if (best === null || distance < best.distance) best = { id, distance };
  }
  return best?.id ?? null;
}

const CLOSE = 1e-6;

/** Whether `other` lies at that side of `from` and shares a part of the edge with it. */
function touches(from: Place, other: Place, side: Side): boolean {
  const across = side === 'left' || side === 'right';
  const overlaps = across
    ? other.top < from.top + from.height - CLOSE && other.top + other.height > from.top + CLOSE
    : other.left < from.left + from.width - CLOSE && other.left + other.width > from.left + CLOSE;
  if (!overlaps) return false;
  switch (side) {
    case 'left':
      return Math.abs(other.left + other.width - from.left) < CLOSE;
    case 'right':
      return Math.abs(from.left + from.width - other.left) < CLOSE;
    case 'up':
      return Math.abs(other.top + other.height - from.top) < CLOSE;
    case 'down':
      return Math.abs(from.top + from.height - other.top) < CLOSE;
  }
}

function middle({ left, top, width, height }: Place): { x: number; y: number } {
  return { x: left + width / 2, y: top + height / 2 };
}

/** Reads a stored layout; null when it is none, repeats a pane or is too deep. */
export function readLayout(value: unknown): Layout | null {
  const layout = part(value, 0);
  if (layout === null) return null;
  const panes = panesOf(layout);
  return new Set(panes).size === panes.length ? layout : null;
}

function part(value: unknown, depth: number): Layout | null {
  if (typeof value === 'string') return value.length <= ID_MAX ? value : null;
  if (typeof value !== 'object' || value === null || depth >= DEPTH_MAX) return null;
  const { direction, share, ...parts } = value as Record<string, unknown>;
  const first = part(parts['first'], depth + 1);
  const second = part(parts['second'], depth + 1);
  if (!isDirection(direction) || !isShare(share) || first === null || second === null) return null;
  return { direction, share, first, second };
}

function isDirection(value: unknown): value is Direction {
  return value === 'row' || value === 'column';
}

function isShare(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value < 1;
}
