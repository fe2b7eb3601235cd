/**
 * The GPU renderer of one terminal, held only while its pane is in view.
 *
 * Browsers allow about 16 contexts per page and take the oldest away without asking;
 * disposing the addon does not free its context, so it is given back by hand.
 */

import type { WebglAddon } from '@xterm/addon-webgl';
import type { Terminal } from '@xterm/xterm';

import { drawsWithHardware } from './renderer';

/** Terminals that hold a context at most: below what a browser takes away by itself. */
const MOST_HELD = 10;
/** Those that hold one, the newest last. */
const held: GpuRenderer[] = [];

/** Makes room for one more: who took theirs first draws without from now on. */
function makeRoom(): void {
  while (held.length >= MOST_HELD) held[0]?.release();
}

export class GpuRenderer {
  readonly #term: Terminal;
  #addon: WebglAddon | null = null;
  #wanted = false;
  /** After a loss the DOM renderer stays: what took the context would take the next. */
  #lost = false;

  constructor(term: Terminal) {
    this.#term = term;
  }

  get active(): boolean {
    return this.#addon !== null;
  }

  async acquire(): Promise<void> {
    this.#wanted = true;
    if (this.#addon !== null || this.#lost || !drawsWithHardware()) return;
    const { WebglAddon } = await import('@xterm/addon-webgl');
    // `release` may have come while the code was loading.
    if (!(this.#wanted as boolean) || this.active) return;
    makeRoom();
    const addon = new WebglAddon();
    addon.onContextLoss(() => {
      this.#lost = true;
      this.release();
    });
    try {
      this.#term.loadAddon(addon);
      this.#addon = addon;
      held.push(this);
      this.#blink(document.documentElement.dataset['motion'] !== 'less');
    } catch {
      // No WebGL here: xterm's DOM renderer is already drawing.
      this.#lost = true;
      addon.dispose();
    }
  }

  release(): void {
    this.#wanted = false;
    const addon = this.#addon;
    if (addon === null) return;
    this.#addon = null;
    this.#blink(false);
    held.splice(held.indexOf(this), 1);
    const contexts = this.#contexts();
    addon.dispose();
    for (const context of contexts) context.getExtension('WEBGL_lose_context')?.loseContext();
  }

  /**
   * Only the GPU's cursor blinks: xterm's other one is a style that changes twice a second, and
   * browsers compute the whole page's styles 60 times a second for it.
   */
  #blink(on: boolean): void {
    this.#term.options.cursorBlink = on;
  }

  #contexts(): WebGL2RenderingContext[] {
    const canvases = this.#term.element?.querySelectorAll('canvas') ?? [];
    return [...canvases]
      .map((canvas) => canvas.getContext('webgl2'))
      .filter((context) => context !== null);
  }
}
