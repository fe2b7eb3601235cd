/**
 * The letters and the grid of one terminal in its part of the page.
 *
 * The driver's screen is fitted and asks for its size; anyone else's shows the terminal's own
 * grid, scaled by font size to the room there is.
 */

import { FitAddon } from '@xterm/addon-fit';
import type { Terminal } from '@xterm/xterm';

import type { AttachStatus } from '../attach/status';
import { newestOf, scrolled, zoomed, type Zoom } from './zoom';

export interface ScreenSizeOptions {
  readonly host: HTMLElement;
  /** True when the page requests a driver's size by itself (not on a phone). */
  readonly autoFit: boolean;
  /** True for a picture that nothing can be typed at. */
  readonly watches: boolean;
  /** Pixels of its letters where they need not shrink. */
  readonly textPx: number;
  readonly status: () => AttachStatus;
  /** The size that a driver requests in place of what fits here: a pane's on a canvas, which is
   *  drawn at any zoom. */
  readonly wish?: Cells | null;
  /** Asks for another size of the terminal. */
  readonly onFit: (cols: number, rows: number) => void;
}

export interface Cells {
  readonly cols: number;
  readonly rows: number;
}

/** Smaller is no longer read; a wider grid is panned instead. */
const FONT_MIN_PX = 6;
/** 80 columns are as wide as a phone. */
const FONT_MIN_PHONE_PX = 8;
/** A picture is recognized rather than read. */
const FONT_MIN_PICTURE_PX = 4;
const SETTLE_MS = 100;

export class ScreenSize {
  readonly #term: Terminal;
  readonly #options: ScreenSizeOptions;
  readonly #fit = new FitAddon();
  readonly #stopPanning: () => void;
  #textPx: number;
  #settle: number | undefined;
  #visible = false;
  #fitOnce = false;
  #zoom: Zoom;
  #wish: Cells | null;

  constructor(term: Terminal, options: ScreenSizeOptions) {
    this.#term = term;
    this.#options = options;
    this.#textPx = options.textPx;
    this.#wish = options.wish ?? null;
    this.#zoom = options.watches ? 'width' : 'all';
    term.loadAddon(this.#fit);
    if (options.watches) term.onRender(() => this.#toNewest());
    this.#stopPanning = listenForPan(options.host);
  }

  get zoom(): Zoom {
    return this.#zoom;
  }

  setZoom(zoom: Zoom): void {
    this.#zoom = zoom;
    this.layout();
  }

  setText(px: number): void {
    this.#textPx = px;
    this.layout();
  }

  /** Sets what a driver requests; it is requested at once by one. */
  setWish(wish: Cells): void {
    if (wish.cols === this.#wish?.cols && wish.rows === this.#wish.rows) return;
    this.#wish = wish;
    this.layout();
  }

  /** In view or not: nothing is measured out of view. */
  show(visible: boolean): void {
    if (visible && !this.#visible) this.#measureAgain();
    this.#visible = visible;
    if (visible) this.layout();
  }

  /** Makes the terminal as large as this screen, as its driver, once. */
  fitOnce(): void {
    this.#fitOnce = true;
    this.layout();
  }

  layoutSoon(): void {
    window.clearTimeout(this.#settle);
    this.#settle = window.setTimeout(() => this.layout(), SETTLE_MS);
  }

  layout(): void {
    const { host, autoFit, watches, onFit } = this.#options;
    if (!this.#visible || host.clientWidth === 0) return;
    const { drives, fixed, phase } = this.#options.status();
    const sizes = drives && !fixed && phase === 'live';
    if (this.#wish !== null) {
      if (sizes) onFit(this.#wish.cols, this.#wish.rows);
      this.#scale();
      return;
    }
    const fits = (autoFit || this.#fitOnce) && sizes;
    host.classList.toggle('pane-framed', !fits && !watches);
    if (fits) {
      host.classList.remove('pane-pans');
      this.#setFont(this.#textPx);
      const room = this.room();
      if (room !== null) onFit(room.cols, room.rows);
      this.#fitOnce = false;
    } else this.#scale();
  }

  /** Cells that fit here at the normal font size, or the wish. */
  room(): Cells | null {
    if (this.#wish !== null) return this.#wish;
    if (this.#term.options.fontSize !== this.#textPx) return null;
    const room = this.#fit.proposeDimensions();
    if (room === undefined || !Number.isFinite(room.cols) || !Number.isFinite(room.rows))
      return null;
    return { cols: Math.max(room.cols, 20), rows: Math.max(room.rows, 5) };
  }

  dispose(): void {
    window.clearTimeout(this.#settle);
    this.#stopPanning();
  }

  /** What was first drawn out of view was found to be nothing wide, and drawn so since. */
  #measureAgain(): void {
    const px = this.#term.options.fontSize ?? this.#textPx;
    this.#setFont(px + 1);
    this.#setFont(px);
  }

  /** The largest font, up to the normal one, with which the zoom's part of the grid is in view. */
  #scale(): void {
    const { host } = this.#options;
    const screen = host.querySelector<HTMLElement>('.xterm-screen');
    if (screen === null || screen.offsetWidth === 0) return;
    const { px, pans } = zoomed({
      zoom: this.#zoom,
      now: this.#term.options.fontSize ?? this.#textPx,
      most: this.#textPx,
      least: this.#least,
      wide: host.clientWidth / screen.offsetWidth,
      high: host.clientHeight / screen.offsetHeight,
    });
    host.classList.toggle('pane-pans', pans);
    this.#setFont(px);
  }

  get #least(): number {
    const { autoFit, watches } = this.#options;
    if (watches || this.#wish !== null) return FONT_MIN_PICTURE_PX;
    return autoFit ? FONT_MIN_PX : FONT_MIN_PHONE_PX;
  }

  /** Scrolls a picture to the newest lines: it may be lower than the screen it shows. */
  #toNewest(): void {
    const { host } = this.#options;
    const high = host.querySelector<HTMLElement>('.xterm-screen')?.offsetHeight ?? 0;
    const { rows, buffer } = this.#term;
    const last = newestOf(buffer.active, rows);
    host.scrollTop = scrolled({ last, rowPx: high / rows, roomPx: host.clientHeight });
  }

  #setFont(px: number): void {
    if (this.#term.options.fontSize !== px) this.#term.options.fontSize = px;
  }
}

interface Pan {
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly top: number;
  /** Whether this finger moves the screen; null until it moves. */
  moves: boolean | null;
}

/** Lets a finger move a screen that is larger than its window; returns the way to stop. The browser
 *  does not do so, as xterm takes all touches to scroll its lines. */
function listenForPan(host: HTMLElement): () => void {
  let pan: Pan | null = null;
  const onStart = ({ touches }: TouchEvent): void => {
    const [finger] = touches;
    const alone = touches.length === 1 && finger !== undefined;
    const { scrollLeft: left, scrollTop: top } = host;
    pan = alone ? { x: finger.clientX, y: finger.clientY, left, top, moves: null } : null;
  };
  const onMove = (event: TouchEvent): void => {
    const [finger] = event.touches;
    if (pan === null || finger === undefined) return;
    const [right, down] = [pan.x - finger.clientX, pan.y - finger.clientY];
    pan.moves ??= pans(host, right, down);
    if (!pan.moves) return;
    event.stopPropagation();
    host.scrollTo(pan.left + right, pan.top + down);
  };
  host.addEventListener('touchstart', onStart, { passive: true });
  host.addEventListener('touchmove', onMove, { passive: true });
  return () => {
    host.removeEventListener('touchstart', onStart);
    host.removeEventListener('touchmove', onMove);
  };
}

/** Whether something of a screen is out of view in the direction that a finger moves it. */
function pans(host: HTMLElement, right: number, down: number): boolean {
  if (!host.classList.contains('pane-pans')) return false;
  if (Math.abs(right) > Math.abs(down)) return host.scrollWidth > host.clientWidth;
  const below = host.scrollHeight - host.clientHeight - host.scrollTop;
  return down > 0 ? below >= 1 : host.scrollTop > 0;
}
