/**
 * The bytes of one terminal on their way to the screen: offsets and acknowledgements.
 *
 * It outlives connections and knows none: `begin` and `pause` say when one carries it.
 */

import { Alarm, type Timers } from './alarm';

/** Where bytes go. Calls are in order, and so must the `done` callbacks be. */
export interface Screen {
  /** Appends bytes; `done` is called once they are parsed. */
  write(bytes: Uint8Array, done: () => void): void;
  /** The terminal's size changed; called between the writes it belongs between. */
  resize(cols: number, rows: number): void;
}

interface StreamOptions {
  readonly screen: Screen;
  readonly timers: Timers;
  /** Everything up to this offset is on the screen; called only between begin and pause. */
  readonly onAck: (offset: number) => void;
  /** Sees every counted byte in order; for tests. */
  readonly tap?: ((bytes: Uint8Array, offset: number) => void) | undefined;
}

/** Bytes handed to the screen at once, so acknowledgements stay fine-grained. */
const PIECE_BYTES = 32 * 1024;
/** An idle screen acknowledges after this. */
const IDLE_ACK_MS = 60;
/** xterm throws data away past 50 MB unparsed; leave long before that. */
const BACKLOG_BYTES = 8 * 1024 * 1024;
const NOTHING = new Uint8Array(0);

export class Stream {
  readonly #options: StreamOptions;
  readonly #idle: Alarm;
  /** Offset of the next byte to come; null before the first connection. */
  #received: number | null = null;
  #shown = 0;
  #acked = 0;
  #ackEvery = 0;
  #carried = false;
  #onDrained: (() => void) | null = null;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#idle = new Alarm(options.timers);
  }

  get received(): number | null {
    return this.#received;
  }

  /** Offset up to which the screen has parsed. */
  get shown(): number {
    return this.#shown;
  }

  /**
   * A connection carries it from here on; the server stops that far past the last ack. It
   * counts everything it has sent before as acknowledged, and refuses an offset that goes back.
   */
  begin(ackEvery: number): void {
    this.#carried = true;
    this.#acked = this.#received ?? 0;
    this.#ackEvery = ackEvery;
  }

  /** No connection carries it. What arrived is still shown, but not acknowledged. */
  pause(): void {
    this.#carried = false;
    this.#onDrained = null;
    this.#idle.clear();
  }

  /** Pauses, and calls once everything that arrived is on the screen. */
  drain(onDrained: () => void): void {
    this.pause();
    this.#onDrained = onDrained;
  }

  /** Goes on at another offset; the preamble makes the screen fit for it. */
  restartAt(offset: number, preamble: Uint8Array): void {
    this.#received = this.#acked = offset;
    this.#options.screen.write(preamble, () => this.#onShown(offset));
  }

  /** Calls once what came before is on the screen. */
  afterward(act: () => void): void {
    this.#options.screen.write(NOTHING, act);
  }

  /** The next bytes. False: the screen is so far behind that it should catch up first. */
  push(bytes: Uint8Array): boolean {
    let offset = this.#received ?? 0;
    this.#options.tap?.(bytes, offset);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      const end = offset + piece.length;
      this.#options.screen.write(piece, () => this.#onShown(end));
      offset = end;
    }
    this.#received = offset;
    return offset - this.#shown <= BACKLOG_BYTES;
  }

  #onShown(offset: number): void {
    this.#shown = offset;
    const idle = offset === this.#received;
    if (idle && this.#onDrained !== null) this.#onDrained();
    else if (!this.#carried) return;
    // Half of what the server allows: the next ack is under way before it waits for it.
    else if (offset - this.#acked >= this.#ackEvery / 2) this.#ack();
    else if (idle && !this.#idle.isSet) this.#idle.set(() => this.#ack(), IDLE_ACK_MS);
  }

  #ack(): void {
    if (this.#shown <= this.#acked) return;
    this.#idle.clear();
    this.#acked = this.#shown;
    this.#options.onAck(this.#shown);
  }
}
