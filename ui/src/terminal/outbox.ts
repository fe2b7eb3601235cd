/**
 * What is typed and pasted on its way to the program: cut into frames, sent as the program
 * takes them.
 *
 * The server says how many bytes may be on their way (`window`) and how many of them have
 * arrived or were refused. What waits here is lost with the connection, and `end` says how much
 * that was: nothing is typed later that nobody expects any more.
 */

/** Far below the longest frame that the server accepts. */
const FRAME_BYTES = 16 * 1024;

export class Outbox {
  readonly #send: (frame: Uint8Array) => void;
  #queue: Uint8Array[] = [];
  #waiting = 0;
  #sent = 0;
  #taken = 0;
  #window = Infinity;

  constructor(send: (frame: Uint8Array) => void) {
    this.#send = send;
  }

  /** A new connection carries it. A server that gives no window is sent everything at once. */
  begin(window: number): void {
    this.#sent = 0;
    this.#taken = 0;
    this.#window = window > 0 ? window : Infinity;
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      this.#queue.push(bytes.subarray(at, at + FRAME_BYTES));
    }
    this.#waiting += bytes.length;
    this.#flush();
  }

  /** So many bytes of this connection went to the program or were refused. */
  taken(bytes: number): void {
    this.#taken = Math.max(this.#taken, bytes);
    this.#flush();
  }

  /** Drops what waits. Returns how many bytes that were. */
  drop(): number {
    const dropped = this.#waiting;
    this.#queue = [];
    this.#waiting = 0;
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

  #flush(): void {
    for (;;) {
      const frame = this.#queue[0];
      if (frame === undefined || this.#sent + frame.length - this.#taken > this.#window) return;
      this.#queue.shift();
      this.#waiting -= frame.length;
      this.#sent += frame.length;
      this.#send(frame);
    }
  }
}
