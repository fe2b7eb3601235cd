/** What a person does to the items of a dashboard. Each act is one step of their undo. */

import * as Y from 'yjs';

import type { Board } from './board';
import { carried } from './choice';
import { around, centre, holds, moved } from './geometry';
import { hasText, MAX_TITLE, makeId, sizeOf, type Box, type Fields, type Item } from './items';
import { applyRuns, type Run } from './rich';
import { tidied } from './tidy';

/** What an item is made of, beside what every item has. */
export interface NewItem {
  readonly kind: string;
  readonly box?: Partial<Box>;
  /** Fields as the document spells them. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly text?: readonly Run[];
}

/** Who does it, and when. */
export interface Author {
  readonly id: string;
  readonly at: string;
}

/** Puts an item onto the dashboard, above all others; a frame below them. Returns its id. */
export function addItem(board: Board, made: NewItem, author: Author): string {
  const id = makeId();
  board.act(() => {
    put(board, id, made, author);
    reframe(board, [id]);
  });
  return id;
}

function put(board: Board, id: string, made: NewItem, author: Author): void {
  const size = sizeOf(made.kind);
  const box = { x: 0, y: 0, ...size, ...made.box };
  const fields: Fields = new Y.Map();
  board.fields.set(id, fields);
  fields.set('kind', made.kind);
  for (const [key, value] of Object.entries(wholeBox(box))) fields.set(key, value);
  fields.set('z', made.kind === 'frame' ? lowest(board) - 1 : highest(board) + 1);
  fields.set('by', author.id);
  fields.set('at', author.at);
  for (const [key, value] of Object.entries(made.fields ?? {}))
    if (value !== null && value !== undefined) fields.set(key, value);
  if (!hasText(made.kind)) return;
  const text = new Y.Text();
  fields.set('text', text);
  applyRuns(text, 0, made.text ?? []);
}

/** Sets fields of items; null removes one. */
export function changeItems(
  board: Board,
  ids: readonly string[],
  change: Readonly<Record<string, unknown>>,
): void {
  board.act(() => {
    for (const id of ids) write(board, id, change);
  });
}

/** Calls todos done; where all of them are, not done. */
export function tickTodos(board: Board, items: readonly Item[]): void {
  const todos = items.filter(({ kind }) => kind === 'todo');
  const done = todos.some((one) => !one.done);
  const ids = todos.map(({ id }) => id);
  if (ids.length > 0) changeItems(board, ids, { done, proposed_done: null });
}

export function rename(board: Board, id: string, title: string): void {
  changeItems(board, [id], { title: title.trim().slice(0, MAX_TITLE) || null });
}

/** Moves and sizes items, and lets frames carry what lies in them from then on. */
export function placeItems(board: Board, boxes: ReadonlyMap<string, Box>): void {
  board.act(() => {
    for (const [id, box] of boxes) write(board, id, { ...wholeBox(box) });
    reframe(board, [...boxes.keys()]);
  });
}

/** Moves items by so much, with what their frames carry. */
export function moveItems(board: Board, ids: readonly string[], dx: number, dy: number): void {
  const all = carried(board.list.get(), ids);
  placeItems(board, new Map(all.map((item) => [item.id, moved(item, dx, dy)])));
}

/** Removes items that are not locked. Returns how many. */
export function removeItems(board: Board, ids: readonly string[]): number {
  const gone = ids.filter((id) => board.item(id)?.locked === false);
  if (gone.length === 0) return 0;
  board.act(() => {
    for (const id of gone) board.fields.delete(id);
    // What a frame carried stays where it is.
    for (const item of board.list.get())
      if (item.frame !== null && gone.includes(item.frame)) write(board, item.id, { frame: null });
  });
  return gone.length;
}

/** Brings items before all others, or behind them; they keep their order among themselves. */
export function stack(board: Board, ids: readonly string[], to: 'front' | 'back'): void {
  const items = itemsOf(board, ids).sort((a, b) => a.z - b.z);
  const first = to === 'front' ? highest(board) + 1 : lowest(board) - items.length;
  board.act(() => {
    for (const [at, item] of items.entries()) write(board, item.id, { z: first + at });
  });
}

/** Makes a group of items, or parts the groups they are in. */
export function groupItems(board: Board, ids: readonly string[], together: boolean): void {
  changeItems(board, ids, { group: together ? makeId('grp') : null });
}

/** Puts items into rows; frames move with what they carry, and stay behind it. */
export function tidyItems(board: Board, ids: readonly string[]): void {
  const all = itemsOf(board, ids).filter(({ locked }) => !locked);
  const inside = new Set(ids);
  const loose = all.filter(({ frame }) => frame === null || !inside.has(frame));
  const places = tidied(loose);
  const boxes = new Map<string, Box>();
  for (const [at, item] of loose.entries()) {
    const place = places[at];
    if (place === undefined) continue;
    for (const one of carried(board.list.get(), [item.id]))
      boxes.set(one.id, moved(one, place.x - item.x, place.y - item.y));
  }
  placeItems(board, boxes);
}

const FRAME_ROOM = 32;

/** Puts a frame around items, or an empty one into a box. Returns its id. */
export function frameItems(board: Board, ids: readonly string[], author: Author): string | null {
  const box = around(itemsOf(board, ids));
  if (box === null) return null;
  const id = makeId();
  const { x, y, w, h } = box;
  const room = {
    x: x - FRAME_ROOM,
    y: y - FRAME_ROOM,
    w: w + 2 * FRAME_ROOM,
    h: h + 2 * FRAME_ROOM,
  };
  board.act(() => {
    put(board, id, { kind: 'frame', box: room }, author);
    reframe(board, ids);
  });
  return id;
}

/** Says which frame carries an item: the topmost that holds its centre, of those around it. */
function reframe(board: Board, ids: readonly string[]): void {
  const frames = board.list.get().filter(({ kind }) => kind === 'frame');
  // Inside of a transaction the values are older than the document: boxes are read from that.
  const boxes = new Map(frames.map((frame) => [frame.id, boxNow(board, frame)]));
  for (const id of [...board.fields.keys()].filter((one) => freshFrame(board, one, boxes)))
    boxes.set(id, boxNow(board, { id, x: 0, y: 0, w: 0, h: 0 }));
  for (const id of ids) {
    const fields = board.fields.get(id);
    if (fields === undefined || fields.get('kind') === 'frame') continue;
    const point = centre(boxNow(board, { id, x: 0, y: 0, w: 0, h: 0 }));
    const around = [...boxes].filter(([frame, box]) => frame !== id && holds(box, point));
    const [found] = around.sort(([, a], [, b]) => a.w * a.h - b.w * b.h);
    write(board, id, { frame: found?.[0] ?? null });
  }
}

function freshFrame(board: Board, id: string, known: ReadonlyMap<string, Box>): boolean {
  return !known.has(id) && board.fields.get(id)?.get('kind') === 'frame';
}

function boxNow(board: Board, { id, ...box }: { readonly id: string } & Box): Box {
  const fields = board.fields.get(id);
  const side = (key: keyof Box): number => {
    const value = fields?.get(key);
    return typeof value === 'number' ? value : box[key];
  };
  return { x: side('x'), y: side('y'), w: side('w'), h: side('h') };
}

/** Sets fields that differ; an equal value again would be an edit of nothing. */
function write(board: Board, id: string, change: Readonly<Record<string, unknown>>): void {
  const fields = board.fields.get(id);
  if (fields === undefined) return;
  for (const [key, value] of Object.entries(change)) {
    if (value === null || value === undefined) {
      if (fields.has(key)) fields.delete(key);
    } else if (fields.get(key) !== value) fields.set(key, value);
  }
}

/** Coordinates in a document are whole. */
function wholeBox({ x, y, w, h }: Box): Box {
  return { x: Math.round(x) + 0, y: Math.round(y) + 0, w: Math.round(w), h: Math.round(h) };
}

export function itemsOf(board: Board, ids: readonly string[]): Item[] {
  return ids.map((id) => board.item(id)).filter((item) => item !== null);
}

function highest(board: Board): number {
  return heights(board).reduce((a, b) => Math.max(a, b), 0);
}

function lowest(board: Board): number {
  return heights(board).reduce((a, b) => Math.min(a, b), 0);
}

/** Of the document itself: in a transaction the values are older than it. */
function heights(board: Board): readonly number[] {
  return [...board.fields.values()]
    .map((fields) => fields.get('z'))
    .filter((z) => typeof z === 'number');
}
