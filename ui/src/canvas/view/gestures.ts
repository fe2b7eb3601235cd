/**
 * What a pointer does on the canvas: choosing, moving, sizing, drawing a box, panning, zooming.
 *
 * One gesture at a time. Nothing is written before it ends: until then others see it by presence,
 * and it is undone as one.
 */

import { changeItems, placeItems } from '../document/acts';
import { carried, withGroups, within } from '../document/choice';
import { duplicateItems } from '../document/clip';
import { around, between, moved, type Point } from '../document/geometry';
import { LEAST, type Box, type Item } from '../document/items';
import { snapEdges, snapMove } from '../document/snap';
import type { Stage } from './stage';
import { panned } from './viewport';

/** The edges that a handle moves; null: none on that axis. */
export interface Handle {
  readonly x: 'start' | 'end' | null;
  readonly y: 'start' | 'end' | null;
}

type Gesture =
  | { readonly is: 'pan'; last: Point }
  | { readonly is: 'draw'; readonly from: Point; readonly before: readonly string[] }
  | {
      readonly is: 'move';
      readonly from: Point;
      readonly copies: boolean;
      readonly taps: string | null;
      started: boolean;
      /** The items and their boxes, found when it starts. */
      all: readonly Item[];
      others: readonly Box[];
    }
  | { readonly is: 'size'; readonly from: Point; readonly item: Item; readonly handle: Handle };

/** Moves below so many pixels are a click. */
const CLICK_PX = 4;
/** Edges snap within so many pixels. */
const SNAP_PX = 7;

export interface Pressed {
  readonly at: Point;
  readonly button: number;
  readonly shift: boolean;
  readonly alt: boolean;
  readonly space: boolean;
}

export class Gestures {
  readonly #stage: Stage;
  #now: Gesture | null = null;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  get active(): boolean {
    return this.#now !== null;
  }

  /** A press on an item, or with null on the empty plane. Returns whether a gesture begins. */
  press(pressed: Pressed, item: Item | null): boolean {
    const stage = this.#stage;
    if (pressed.button === 1 || pressed.space || stage.tool.get() === 'hand') {
      this.#now = { is: 'pan', last: pressed.at };
      stage.followed.set(null);
      return true;
    }
    if (pressed.button !== 0) return false;
    if (item === null || (item.locked && !pressed.shift && item.kind === 'frame'))
      this.#draw(pressed);
    else this.#take(pressed, item);
    return true;
  }

  #draw({ at, shift }: Pressed): void {
    const stage = this.#stage;
    const before = shift ? stage.chosen.get() : [];
    stage.leave();
    stage.choose(before, false);
    this.#now = { is: 'draw', from: stage.at(at), before };
  }

  #take({ at, shift, alt }: Pressed, item: Item): void {
    const stage = this.#stage;
    if (stage.inside.get() !== item.id) stage.leave();
    const chosen = stage.chosen.get().includes(item.id);
    if (shift) stage.toggle(item.id);
    else if (!chosen) stage.choose([item.id]);
    stage.focused.set(item.id);
    if (!stage.edits || item.locked) return;
    this.#now = {
      is: 'move',
      from: at,
      copies: alt,
      // A click on one of several chooses it alone, but only once it is known to be no drag.
      taps: chosen && !shift ? item.id : null,
      started: false,
      all: [],
      others: [],
    };
  }

  pressHandle(at: Point, item: Item, handle: Handle): void {
    if (this.#stage.edits && !item.locked) this.#now = { is: 'size', from: at, item, handle };
  }

  /** The pointer moved; `free`: nothing snaps. */
  move(at: Point, free: boolean): void {
    const stage = this.#stage;
    const gesture = this.#now;
    switch (gesture?.is) {
      case undefined:
        return;
      case 'pan': {
        const { last } = gesture;
        stage.look(panned(stage.view.get(), last.x - at.x, last.y - at.y));
        gesture.last = at;
        return;
      }
      case 'draw': {
        const box = between(gesture.from, stage.at(at));
        stage.marquee.set(box);
        const found = within(stage.items, box);
        stage.choose([...new Set([...gesture.before, ...found])], false);
        return;
      }
      case 'move':
        this.#drag(gesture, at, free);
        return;
      case 'size':
        this.#resize(gesture, at, free);
    }
  }

  #drag(gesture: Extract<Gesture, { is: 'move' }>, at: Point, free: boolean): void {
    const stage = this.#stage;
    const { zoom } = stage.view.get();
    const [px, py] = [at.x - gesture.from.x, at.y - gesture.from.y];
    if (!gesture.started) {
      if (Math.hypot(px, py) < CLICK_PX) return;
      gesture.started = true;
      const ids = withGroups(stage.items, stage.chosen.get());
      gesture.all = carried(stage.items, ids);
      const moving = new Set(gesture.all.map(({ id }) => id));
      gesture.others = near(stage).filter(({ id }) => !moving.has(id));
    }
    const box = around(gesture.all);
    if (box === null) return;
    const to = moved(box, px / zoom, py / zoom);
    const snap = free ? FREE : snapMove(to, gesture.others, SNAP_PX / zoom);
    stage.guides.set(snap.guides);
    stage.drag.set({
      ids: gesture.all.map(({ id }) => id),
      dx: to.x - box.x + snap.dx,
      dy: to.y - box.y + snap.dy,
    });
  }

  #resize(gesture: Extract<Gesture, { is: 'size' }>, at: Point, free: boolean): void {
    const stage = this.#stage;
    const { zoom } = stage.view.get();
    const { item, handle, from } = gesture;
    const by = { x: (at.x - from.x) / zoom, y: (at.y - from.y) / zoom };
    const wished = resized(item, handle, by);
    const others = near(stage).filter(({ id }) => id !== item.id);
    const snap = free ? FREE : snapEdges(wished, handle, others, SNAP_PX / zoom);
    stage.guides.set(snap.guides);
    const box = resized(item, handle, { x: by.x + snap.dx, y: by.y + snap.dy });
    stage.sizing.set({ id: item.id, box });
  }

  /** The pointer was lifted. */
  release(): void {
    const stage = this.#stage;
    const gesture = this.#now;
    const drag = stage.drag.get();
    const sizing = stage.sizing.get();
    this.cancel();
    if (gesture?.is === 'size' && sizing !== null)
      placeItems(stage.board, new Map([[sizing.id, sizing.box]]));
    if (gesture?.is !== 'move') return;
    if (drag === null) {
      if (gesture.taps !== null) stage.choose([gesture.taps]);
      return;
    }
    this.#drop(gesture, drag.dx, drag.dy);
  }

  #drop({ copies, all }: Extract<Gesture, { is: 'move' }>, dx: number, dy: number): void {
    const stage = this.#stage;
    if (copies) {
      stage.choose(duplicateItems(stage.board, all, stage.author, { x: dx, y: dy }), false);
      return;
    }
    // Somebody may have moved or removed them meanwhile: it is their place now that counts.
    const now = all.map(({ id }) => stage.board.item(id)).filter((item) => item !== null);
    placeItems(stage.board, new Map(now.map((item) => [item.id, moved(item, dx, dy)])));
  }

  /** Ends the gesture as if it had not been. Returns whether there was one. */
  cancel(): boolean {
    const stage = this.#stage;
    const was = this.#now !== null;
    this.#now = null;
    stage.drag.set(null);
    stage.sizing.set(null);
    stage.marquee.set(null);
    stage.guides.set([]);
    return was;
  }
}

const FREE = { dx: 0, dy: 0, guides: [] } as const;

/** What can be seen: only that is snapped to. */
function near(stage: Stage): readonly Item[] {
  const { window } = stage;
  return stage.items.filter(
    ({ x, y, w, h }) =>
      x < window.x + window.w && x + w > window.x && y < window.y + window.h && y + h > window.y,
  );
}

/** A box whose edges at the handle moved by so much, never smaller than the least. */
export function resized(box: Box, handle: Handle, by: Point): Box {
  const [x, w] = sided(box.x, box.w, handle.x, by.x, LEAST.w);
  const [y, h] = sided(box.y, box.h, handle.y, by.y, LEAST.h);
  return { x, y, w, h };
}

function sided(
  start: number,
  side: number,
  edge: 'start' | 'end' | null,
  by: number,
  least: number,
): readonly [number, number] {
  if (edge === null) return [start, side];
  if (edge === 'end') return [start, Math.max(least, side + by)];
  const next = Math.max(least, side - by);
  return [start + side - next, next];
}

/** Makes chosen items larger by the keyboard. */
export function growItems(stage: Stage, dw: number, dh: number): void {
  const boxes = stage.picked
    .filter(({ locked }) => !locked)
    .map((item) => [item.id, resized(item, { x: 'end', y: 'end' }, { x: dw, y: dh })] as const);
  placeItems(stage.board, new Map(boxes));
}

/** Locks what is chosen, or unlocks it where all of it is locked. */
export function toggleLock(stage: Stage): void {
  const { picked } = stage;
  const locked = picked.every((item) => item.locked);
  changeItems(
    stage.board,
    picked.map(({ id }) => id),
    { locked: locked ? null : true },
  );
}
