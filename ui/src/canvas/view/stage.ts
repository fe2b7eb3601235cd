/**
 * The state of one canvas in one window: what it shows, what is chosen, what is being done.
 *
 * Nothing of it is in the document. Components subscribe to its stores; gestures, keys and
 * commands call its methods.
 */

import { Store } from '../../state/store';
import type { Author } from '../document/acts';
import type { Board } from '../document/board';
import { withGroups } from '../document/choice';
import { around, centre, freePlace, type Point } from '../document/geometry';
import type { Box, Item } from '../document/items';
import type { Guide } from '../document/snap';
import type { Drag } from '../presence/presence';
import { centred, fitted, panned, revealed, shown, toPlane, zoomedAt } from './viewport';
import type { Size, Viewport } from './viewport';

/** After that long without a move, what is drawn is drawn anew at its size. */
const REST_MS = 160;
/** The foot of the window, where the tools are. */
const TOOLS_PX = 64;
/** The lines of tools of a terminal with an agent. */
const BAR_PX = 92;

/** What the pointer of a tool makes at the next click. */
export type Tool = 'select' | 'hand';

export class Stage {
  readonly board: Board;
  readonly view = new Store<Viewport>({ x: 0, y: 0, zoom: 1 });
  /** The zoom that everything is laid out for; the same as the view's at rest. */
  readonly rest = new Store(1);
  readonly tool = new Store<Tool>('select');
  readonly chosen = new Store<readonly string[]>([]);
  /** The item that the keyboard is in: its text, or its terminal. */
  readonly inside = new Store<string | null>(null);
  readonly drag = new Store<Drag | null>(null);
  /** The box that a resize would give an item. */
  readonly sizing = new Store<{ readonly id: string; readonly box: Box } | null>(null);
  readonly marquee = new Store<Box | null>(null);
  readonly guides = new Store<readonly Guide[]>([]);
  /** Where this person points, on the plane. */
  readonly cursor = new Store<Point | null>(null);
  /** The client whose view is followed. */
  readonly followed = new Store<number | null>(null);
  readonly size = new Store<Size>({ w: 1, h: 1 });
  /** The item that Tab comes back to. */
  readonly focused = new Store<string | null>(null);
  #author: string;
  #settle: ReturnType<typeof setTimeout> | undefined;
  #animation: number | undefined;
  #goal: number | null = null;
  edits: boolean;
  /** Came by a link: a guest who edits makes, alters and removes no panes and tasks. */
  guest = false;
  /** Whether the eye is led from one view to the next. */
  readonly #animates: boolean;

  constructor(board: Board, author: string, edits: boolean, animates = false) {
    this.board = board;
    this.#author = author;
    this.edits = edits;
    this.#animates = animates;
  }

  /** Whether this person may do with panes and tasks what members may. */
  get works(): boolean {
    return this.edits && !this.guest;
  }

  get author(): Author {
    return { id: this.#author, at: new Date().toISOString() };
  }

  get items(): readonly Item[] {
    return this.board.list.get();
  }

  /** The chosen items, as they are now. */
  get picked(): readonly Item[] {
    const ids = new Set(this.chosen.get());
    return this.items.filter(({ id }) => ids.has(id));
  }

  get window(): Box {
    return shown(this.view.get(), this.size.get());
  }

  /** The point of the plane under a point of the window. */
  at(point: Point): Point {
    return toPlane(this.view.get(), point);
  }

  choose(ids: readonly string[], groups = true): void {
    const all = groups ? withGroups(this.items, ids) : ids;
    const before = this.chosen.get();
    if (all.length === before.length && all.every((id) => before.includes(id))) return;
    this.chosen.set(all);
    const [one] = ids;
    if (one !== undefined) this.focused.set(one);
  }

  /** Adds to what is chosen, or takes away. */
  toggle(id: string): void {
    const all = withGroups(this.items, [id]);
    const now = this.chosen.get();
    const without = now.filter((one) => !all.includes(one));
    this.chosen.set(now.includes(id) ? without : [...without, ...all]);
  }

  enter(id: string): void {
    this.choose([id], false);
    this.inside.set(id);
  }

  leave(): void {
    this.inside.set(null);
  }

  /** Shows another part of the plane; `quick`: at once at rest, without a pause. */
  look(view: Viewport, quick = false): void {
    this.#stand();
    this.#look(view, quick);
  }

  #stand(): void {
    if (this.#animation !== undefined) cancelAnimationFrame(this.#animation);
    this.#animation = undefined;
    this.#goal = null;
  }

  /** The zoom, or the one that is on its way. */
  get goal(): number {
    return this.#goal ?? this.view.get().zoom;
  }

  #look(view: Viewport, quick: boolean): void {
    this.view.set(view);
    clearTimeout(this.#settle);
    const settle = (): void => this.rest.set(this.view.get().zoom);
    if (quick) settle();
    else if (this.rest.get() !== view.zoom) this.#settle = setTimeout(settle, REST_MS);
  }

  /** Goes there as the eye can follow; at once for those who want no motion. */
  glide(to: Viewport): void {
    this.#stand();
    if (!this.#animates) {
      this.#look(to, true);
      return;
    }
    const [from, start] = [this.view.get(), performance.now()];
    this.#goal = to.zoom;
    const step = (now: number): void => {
      const part = Math.min(1, (now - start) / 220);
      const eased = 1 - (1 - part) ** 3;
      const zoom = from.zoom * (to.zoom / from.zoom) ** eased;
      this.#look(part === 1 ? to : between(from, to, eased, zoom, this.size.get()), part === 1);
      if (part < 1) this.#animation = requestAnimationFrame(step);
      else this.#goal = null;
    };
    this.#animation = requestAnimationFrame(step);
  }

  pan(dx: number, dy: number): void {
    this.look(panned(this.view.get(), dx, dy));
  }

  /** Zooms around a point of the window, or its middle. */
  zoomTo(zoom: number, at?: Point): void {
    const { w, h } = this.size.get();
    this.look(zoomedAt(this.view.get(), at ?? { x: w / 2, y: h / 2 }, zoom));
  }

  glideToZoom(zoom: number): void {
    const { w, h } = this.size.get();
    this.glide(zoomedAt(this.view.get(), { x: w / 2, y: h / 2 }, zoom));
  }

  /** Shows all items, or these. */
  fit(items: readonly Item[] = this.items, quick = false): void {
    const box = around(items);
    if (box === null) return;
    const to = fitted(box, this.#room);
    if (quick) this.look(to, true);
    else this.glide(to);
  }

  /** The window above the tools. */
  get #room(): Size {
    const { w, h } = this.size.get();
    return { w, h: Math.max(h / 2, h - TOOLS_PX) };
  }

  /** Moves so that an item can be seen. */
  reveal(item: Box): void {
    const to = revealed(this.view.get(), item, this.#room);
    if (to.x !== this.view.get().x || to.y !== this.view.get().y) this.glide(to);
  }

  /** Shows an item and goes into it; a terminal with its line of tools below. */
  open(item: Item): void {
    const below = item.kind === 'terminal' || item.kind === 'agent' ? BAR_PX : 0;
    this.reveal({ ...item, h: item.h + below / this.view.get().zoom });
    this.enter(item.id);
  }

  /** Goes to an item: the way a deep link leads. */
  visit(item: Item, quick = false): void {
    this.choose([item.id], false);
    const to = fitted(item, this.#room);
    if (quick) this.look(to, true);
    else this.glide(to);
  }

  /** Shows what another person sees. */
  see(box: Box): void {
    const { w, h } = this.size.get();
    this.look(centred(box, { w, h }, Math.min(w / box.w, h / box.h)));
  }

  /** A free place for a new box of that size in the middle of the window. */
  place(size: Size): Point {
    const middle = centre(this.window);
    const wish = {
      x: Math.round((middle.x - size.w / 2) / 8) * 8,
      y: Math.round((middle.y - size.h / 2) / 8) * 8,
      ...size,
    };
    return freePlace(
      wish,
      this.items.filter(({ kind }) => kind !== 'frame'),
    );
  }

  dispose(): void {
    clearTimeout(this.#settle);
    this.#stand();
  }
}

/** A view on the way from one to another: the middle moves evenly while the zoom does. */
function between(from: Viewport, to: Viewport, part: number, zoom: number, size: Size): Viewport {
  const [a, b] = [shown(from, size), shown(to, size)];
  const [at, goal] = [centre(a), centre(b)];
  const middle = { x: at.x + (goal.x - at.x) * part, y: at.y + (goal.y - at.y) * part };
  return centred({ ...middle, w: 0, h: 0 }, size, zoom);
}
