/**
 * Whether a connection is still alive, by what comes on it.
 *
 * The server sends something every five seconds at least, and every two on the stream of events. A browser says nothing of a network
 * that has gone away: without this a dead connection looks alive for minutes.
 */

import type { Timers } from './terminal/attach/alarm';
import { Alarm } from './terminal/attach/alarm';

interface PulsePace {
  readonly lookMs: number;
  /** A page that was busy looks late and finds what came meanwhile: one silent look is nothing. */
  readonly silentLooks: number;
}

/** Silence after which a connection is given up. */
const DEAD: PulsePace = { lookMs: 5_000, silentLooks: 3 };
/** Silence after which the page says so, while it still hopes: 3 to 4 seconds. */
export const QUIET: PulsePace = { lookMs: 1_000, silentLooks: 3 };

export const BROWSER_TIMERS: Timers = {
  set: (run, afterMs) => window.setTimeout(run, afterMs),
  clear: (timer) => window.clearTimeout(timer),
  now: () => Date.now(),
};

export class Pulse {
  readonly #alarm: Alarm;
  readonly #onSilence: () => void;
  readonly #pace: PulsePace;
  #silent = 0;

  /** `onSilence` is called once, after 15 to 20 seconds (or as `pace` says) without `felt`. */
  constructor(timers: Timers, onSilence: () => void, pace = DEAD) {
    this.#alarm = new Alarm(timers);
    this.#onSilence = onSilence;
    this.#pace = pace;
  }

  /** Whether it still looks: false once it was silent, or ended. */
  get beats(): boolean {
    return this.#alarm.isSet;
  }

  begin(): void {
    this.#silent = 0;
    this.#alarm.set(() => this.#look(), this.#pace.lookMs);
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
    if (this.#silent > this.#pace.silentLooks) this.#onSilence();
    else this.#alarm.set(() => this.#look(), this.#pace.lookMs);
  }
}
