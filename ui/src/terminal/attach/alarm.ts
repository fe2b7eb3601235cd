/** One thing to do later, which can be put off or called off; the clock comes in. */

/** Time, in milliseconds. */
export interface Timers {
  set(run: () => void, afterMs: number): number;
  clear(timer: number): void;
  now(): number;
}

export class Alarm {
  readonly #timers: Timers;
  #timer: number | null = null;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  get isSet(): boolean {
    return this.#timer !== null;
  }

  /** In place of whatever it was set for before. */
  set(run: () => void, afterMs: number): void {
    this.clear();
    this.#timer = this.#timers.set(() => {
      this.#timer = null;
      run();
    }, afterMs);
  }

  clear(): void {
    if (this.#timer === null) return;
    this.#timers.clear(this.#timer);
    this.#timer = null;
  }
}
