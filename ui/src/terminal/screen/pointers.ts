/** Other people's pointers and selections, drawn over a terminal; cells come in, nothing else. */

import type { Terminal } from '@xterm/xterm';
import { hueOf } from '../attach/party';
import { ownedPointers, pointsForOthers, type Place, type Pointer } from '../attach/pointers';
import type { AttachStatus } from '../attach/status';

type Seen = Pick<AttachStatus, 'phase' | 'control' | 'me'>;

/** A pointer and the person it belongs to. */
interface Pointing extends Place {
  readonly client: string;
  readonly name: string;
  readonly hue: number;
}

const EVERY_MS = 100;

/** Draws pointers, and tells where this person points, at most ten times a second. */
export class PointerLayer {
  readonly #term: Terminal;
  readonly #screen: HTMLElement;
  readonly #layer = document.createElement('div');
  readonly #onPlace: (place: Place | null) => void;
  readonly #cleanups: (() => void)[] = [];
  #others: readonly Pointing[] = [];
  #at: Place['at'] = null;
  #timer: number | undefined;
  #told = '';
  #on = false;

  constructor(term: Terminal, host: HTMLElement, onPlace: (place: Place | null) => void) {
    this.#term = term;
    this.#screen = host.querySelector<HTMLElement>('.xterm-screen') ?? host;
    this.#onPlace = onPlace;
    this.#layer.className = 'pointers';
    this.#layer.setAttribute('aria-hidden', 'true');
    this.#screen.append(this.#layer);
    const moved = (event: MouseEvent): void => this.#moved(event);
    const left = (): void => this.#pointAt(null);
    this.#screen.addEventListener('mousemove', moved, { passive: true });
    this.#screen.addEventListener('mouseleave', left, { passive: true });
    const listeners = [
      term.onSelectionChange(() => this.#soon()),
      term.onScroll(() => this.#draw()),
      term.onResize(() => this.#draw()),
    ];
    this.#cleanups.push(
      () => this.#screen.removeEventListener('mousemove', moved),
      () => this.#screen.removeEventListener('mouseleave', left),
      () => listeners.forEach((listener) => listener.dispose()),
    );
  }

  /** Shows these pointers of the people here while `on`, and tells one's own when not alone. */
  update(pointers: readonly Pointer[], on: boolean, { phase, control, me }: Seen): void {
    const live = on && phase === 'live';
    this.#take(live && pointsForOthers(control, me));
    const others = live ? ownedPointers(pointers, control, me) : [];
    this.#show(
      others.map(({ party, ...one }) => ({
        ...one,
        name: party.name,
        hue: hueOf(party.principal || party.name),
      })),
    );
  }

  #take(on: boolean): void {
    if (on === this.#on) return;
    this.#on = on;
    this.#told = '';
    if (on) {
      this.#soon();
      return;
    }
    this.#onPlace(null);
    this.#show([]);
  }

  #show(others: readonly Pointing[]): void {
    if (others.length === 0 && this.#others.length === 0) return;
    this.#others = others;
    this.#draw();
  }

  dispose(): void {
    window.clearTimeout(this.#timer);
    this.#cleanups.forEach((cleanup) => cleanup());
    this.#layer.remove();
  }

  #moved(event: MouseEvent): void {
    const box = this.#screen.getBoundingClientRect();
    const { cols, rows } = this.#term;
    if (box.width === 0 || box.height === 0) return;
    const column = Math.floor(((event.clientX - box.left) / box.width) * cols);
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    this.#pointAt([row - this.#scrolled(), Math.max(0, Math.min(column, cols - 1))]);
  }

  #pointAt(at: Place['at']): void {
    this.#at = at;
    this.#soon();
  }

  /** Rows that this screen is scrolled back. */
  #scrolled(): number {
    const { baseY, viewportY } = this.#term.buffer.active;
    return baseY - viewportY;
  }

  #soon(): void {
    if (!this.#on || this.#timer !== undefined) return;
    this.#timer = window.setTimeout(() => {
      this.#timer = undefined;
      if (this.#on) this.#tell();
    }, EVERY_MS);
  }

  #tell(): void {
    const { baseY } = this.#term.buffer.active;
    const range = this.#term.getSelectionPosition();
    const selected: Place['selected'] =
      range === undefined
        ? null
        : [range.start.y - baseY, range.start.x, range.end.y - baseY, range.end.x];
    const place: Place = { at: this.#at, selected };
    const told = JSON.stringify(place);
    if (told === this.#told) return;
    this.#told = told;
    this.#onPlace(place);
  }

  #draw(): void {
    this.#layer.replaceChildren(...this.#others.flatMap((one) => this.#marks(one)));
  }

  #marks(one: Pointing): HTMLElement[] {
    const marks = one.selected === null ? [] : this.#rows(one.selected, one.hue);
    if (one.at === null) return marks;
    const [row, column] = one.at;
    const mark = this.#box([row, column, column + 1], one.hue, 'pointer');
    if (mark === null) return marks;
    const name = document.createElement('span');
    name.className = 'pointer-name';
    name.textContent = one.name;
    mark.append(name);
    return [...marks, mark];
  }

  /** A selection as one box for each row in view. */
  #rows([fromRow, fromColumn, toRow, toColumn]: NonNullable<Place['selected']>, hue: number) {
    const { cols, rows } = this.#term;
    const first = Math.max(fromRow, -this.#scrolled());
    const last = Math.min(toRow, rows - 1 - this.#scrolled());
    const boxes: HTMLElement[] = [];
    for (let row = first; row <= last; row += 1) {
      const start = row === fromRow ? fromColumn : 0;
      const end = row === toRow ? toColumn : cols;
      const box = end > start ? this.#box([row, start, end], hue, 'pointer-range') : null;
      if (box !== null) boxes.push(box);
    }
    return boxes;
  }

  #box([row, start, end]: readonly [number, number, number], hue: number, name: string) {
    const { cols, rows } = this.#term;
    const shown = row + this.#scrolled();
    if (shown < 0 || shown >= rows || start >= cols) return null;
    const box = document.createElement('div');
    box.className = name;
    box.dataset['hue'] = String(hue);
    box.style.top = `${(shown / rows) * 100}%`;
    box.style.height = `${100 / rows}%`;
    box.style.left = `${(start / cols) * 100}%`;
    box.style.width = `${((Math.min(end, cols) - start) / cols) * 100}%`;
    return box;
  }
}
