/**
 * What is typed and pasted on its way to the program: cut into frames, sent as the program
 * takes them.
 *
 * The server says how many bytes may be on their way (`window`) and how many of them have
 * arrived or were refused. What waits here is lost with the connection, and `end` says how much
 * that was: nothing is typed later that nobody expects any more. Behind a program that reads
 * nothing for a while nothing waits either: it is dropped, and reported.
 *
 * What is typed while a terminal opens is kept for its first connection, all of it or nothing: a
 * command without its first letters would be another command.
 */

import { Alarm, type Timers } from './alarm';

/** Far below the longest frame that the server accepts. */
const FRAME_BYTES = 16 * 1024;
/** A program that takes nothing for so long has its input dropped. */
const STUCK_MS = 10_000;
/** Some lines, or a short paste. */
const KEPT_BYTES = 4 * 1024;

interface OutboxOptions {
  readonly send: (frame: Uint8Array) => void;
  /** So many bytes were dropped, since the program takes none. */
  readonly onStuck: (bytes: number) => void;
  readonly timers: Timers;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #patience: Alarm;
  #stuck = false;
  #queue: Uint8Array[] = [];
  #waiting = 0;
  #sent = 0;
  #taken = 0;
  #window = Infinity;
  #kept: Uint8Array[] = [];
  /** More was typed than is kept: the rest of it is not kept either. */
  #overflowed = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#patience = new Alarm(options.timers);
  }

  /** A new connection carries it. A server that gives no window is sent everything at once. */
  begin(window: number): void {
    this.#sent = 0;
    this.#taken = 0;
    this.#stuck = false;
    this.#window = window > 0 ? window : Infinity;
    const kept = this.#kept;
    this.dropKept();
    for (const bytes of kept) this.push(bytes);
  }

  /** Keeps what is typed before the first connection. False: nothing that was typed is kept. */
  keep(bytes: Uint8Array): boolean {
    this.#overflowed ||= sizeOf(this.#kept) + bytes.length > KEPT_BYTES;
    if (this.#overflowed) this.#kept = [];
    else this.#kept.push(bytes);
    return !this.#overflowed;
  }

  /** Drops what was kept for a connection. Returns how many bytes that were. */
  dropKept(): number {
    const dropped = sizeOf(this.#kept);
    this.#kept = [];
    this.#overflowed = false;
    return dropped;
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      this.#queue.push(bytes.subarray(at, at + FRAME_BYTES));
    }
    this.#waiting += bytes.length;
    this.#flush();
    if (this.#waiting === 0) return;
    if (this.#stuck) this.#giveUp();
    else if (!this.#patience.isSet) this.#wait();
  }

  /** So many bytes of this connection went to the program or were refused. */
  taken(bytes: number): void {
    this.#taken = Math.max(this.#taken, bytes);
    this.#stuck = false;
    this.#flush();
    if (this.#waiting > 0) this.#wait();
    else this.#patience.clear();
  }

  /** Drops what waits. Returns how many bytes that were. */
  drop(): number {
    const dropped = this.#waiting;
    this.#queue = [];
    this.#waiting = 0;
    this.#patience.clear();
    return dropped;
  }

  /**
   * The connection is gone. Returns how many bytes were not typed, or may not have been: 0 when
   * nothing was left over, since the server reports only every few KiB.
   */
  end(): number {
    const dropped = this.drop();
    const unsure = this.#sent - this.#taken;
    return dropped > 0 || unsure > FRAME_BYTES ? dropped + unsure : 0;
  }

  #wait(): void {
    this.#patience.set(() => this.#giveUp(), STUCK_MS);
  }

  #giveUp(): void {
    this.#stuck = true;
    this.#options.onStuck(this.drop());
  }

  #flush(): void {
    for (;;) {
      const frame = this.#queue[0];
      if (frame === undefined || this.#sent + frame.length - this.#taken > this.#window) return;
      this.#queue.shift();
      this.#waiting -= frame.length;
      this.#sent += frame.length;
      this.#options.send(frame);
    }
  }
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((size, { length }) => size + length, 0);
}
