/**
 * Whether a connection is still alive, by what comes on it.
 *
 * A browser says nothing of a network that has gone away: without this a dead connection looks
 * alive for minutes. The server sends something every two seconds; an older runtime, which
 * outlives its server, every five.
 */

import type { Timers } from './terminal/attach/alarm';
import { Alarm } from './terminal/attach/alarm';

interface Pace {
  readonly lookMs: number;
  /** A page that was busy looks late and finds what came meanwhile: one silent look is nothing. */
  readonly silentLooks: number;
}

/** Silence after which a connection is given up: 9 to 12 seconds. */
const DEAD: Pace = { lookMs: 3_000, silentLooks: 3 };
/** Silence after which the page says so, while it still hopes: 3 to 4 seconds. */
const QUIET: Pace = { lookMs: 1_000, silentLooks: 3 };
/** Heartbeats this often leave no room for a silence of three seconds. */
const OFTEN_MS = 2_000;

export const BROWSER_TIMERS: Timers = {
  set: (run, afterMs) => window.setTimeout(run, afterMs),
  clear: (timer) => window.clearTimeout(timer),
  now: () => Date.now(),
};

/** Counts silent looks at one pace. */
class Watch {
  readonly #alarm: Alarm;
  readonly #onSilence: () => void;
  readonly #pace: Pace;
  #silent = 0;

  constructor(timers: Timers, pace: Pace, onSilence: () => void) {
    this.#alarm = new Alarm(timers);
    this.#onSilence = onSilence;
    this.#pace = pace;
  }

  begin(): void {
    this.#silent = 0;
    this.#alarm.set(() => this.#look(), this.#pace.lookMs);
  }

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

interface PulseHandlers {
  /** Nothing came for 3 to 4 seconds, or something came again after that. */
  onQuiet(quiet: boolean): void;
  /** Nothing came for so long that the connection is lost. Said once. */
  onSilence(): void;
}

export class Pulse {
  readonly #handlers: PulseHandlers;
  readonly #dead: Watch;
  readonly #quiet: Watch;
  #often = false;
  #isQuiet = false;

  constructor(timers: Timers, handlers: PulseHandlers) {
    this.#handlers = handlers;
    this.#dead = new Watch(timers, DEAD, () => {
      this.end();
      handlers.onSilence();
    });
    this.#quiet = new Watch(timers, QUIET, () => {
      this.#isQuiet = true;
      handlers.onQuiet(true);
    });
  }

  /** A connection stands; `everyMs` is the interval of its heartbeats where it is known. */
  begin(everyMs?: number): void {
    this.end();
    this.#dead.begin();
    if (everyMs !== undefined) this.beatsEvery(everyMs);
  }

  /** The server said how often it sends something; from here on quiet is noticed. */
  beatsEvery(everyMs: number): void {
    if (this.#often || everyMs > OFTEN_MS) return;
    this.#often = true;
    this.#quiet.begin();
  }

  /** Something came. */
  felt(): void {
    this.#dead.felt();
    this.#quiet.felt();
    if (!this.#isQuiet) return;
    // It was only slow: nothing was lost, and the connection goes on.
    this.#isQuiet = false;
    this.#quiet.begin();
    this.#handlers.onQuiet(false);
  }

  end(): void {
    this.#often = this.#isQuiet = false;
    this.#dead.end();
    this.#quiet.end();
  }
}
