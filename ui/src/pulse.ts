/**
 * Whether a connection is still alive, by what comes on it.
 *
 * The server sends something every five seconds at least. A browser says nothing of a network
 * that has gone away: without this a dead connection looks alive for minutes.
 */

import type { Timers } from './terminal/attach/alarm';
import { Alarm } from './terminal/attach/alarm';

const LOOK_MS = 5_000;
/** A page that was busy looks late and finds what came meanwhile: one silent look is nothing. */
const SILENT_LOOKS = 3;

export const BROWSER_TIMERS: Timers = {
  set: (run, afterMs) => window.setTimeout(run, afterMs),
  clear: (timer) => window.clearTimeout(timer),
  now: () => Date.now(),
};

export class Pulse {
  readonly #alarm: Alarm;
  readonly #onSilence: () => void;
  #silent = 0;

  /** `onSilence` is called once, after 15 to 20 seconds in which `felt` was not. */
  constructor(timers: Timers, onSilence: () => void) {
    this.#alarm = new Alarm(timers);
    this.#onSilence = onSilence;
  }

  begin(): void {
    this.#silent = 0;
    this.#alarm.set(() => this.#look(), LOOK_MS);
  }

  /** Something came. */
  felt(): void {
    this.#silent = 0;
  }

  end(): void {
    this.#alarm.clear();
  }

  #look(): void {
    this.#silent += 1;
    if (this.#silent > SILENT_LOOKS) this.#onSilence();
    else this.#alarm.set(() => this.#look(), LOOK_MS);
  }
}
