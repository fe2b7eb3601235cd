/** A scripted server, a screen and a clock for the tests of an attachment. */

import { Attachment, type AttachSocket } from './attach';
import type { AttachStatus } from './status';

/** A socket whose server side is the test. */
export class ScriptedSocket implements AttachSocket {
  binaryType = '';
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  readonly sent: (string | Uint8Array)[] = [];
  closed = false;

  constructor(readonly query: URLSearchParams) {}

  send(data: string | Uint8Array): void {
    this.sent.push(data);
  }

  close(): void {
    this.closed = true;
  }

  text(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  bytes(text: string): void {
    this.onmessage?.({ data: new TextEncoder().encode(text).slice().buffer });
  }

  start(offset: number, more: object = {}): void {
    this.text({
      type: 'start',
      offset,
      preamble: '',
      cols: 80,
      rows: 24,
      driver: 'me',
      title: '',
      ack_every: 65536,
      ...more,
    });
  }

  drop(code: number, reason = ''): void {
    this.onclose?.({ code, reason });
  }

  get acks(): number[] {
    return this.sent
      .filter((frame) => typeof frame === 'string')
      .map((frame) => JSON.parse(frame) as { type: string; offset: number })
      .filter((frame) => frame.type === 'ack')
      .map((frame) => frame.offset);
  }
}

/** A screen that parses only when told to, and a clock that moves only when told to. */
export class World {
  readonly sockets: ScriptedSocket[] = [];
  readonly sizes: string[] = [];
  readonly tapped: [number, number][] = [];
  statuses: AttachStatus[] = [];
  shown = '';
  readonly refused: string[] = [];
  readonly dropped: [number, string][] = [];
  readonly expired: [string, boolean, string][] = [];
  now = 0;
  #pending: { bytes: Uint8Array; done: () => void }[] = [];
  #timers = new Map<number, { at: number; run: () => void }>();
  #next = 1;

  readonly attachment = new Attachment({
    clientId: 'me',
    onExpired: (name, mine, reason) => this.expired.push([name, mine, reason]),
    screen: {
      write: (bytes, done) => this.#pending.push({ bytes, done }),
      resize: (cols, rows) => this.sizes.push(`${cols}x${rows}@${this.shown.length}`),
    },
    connect: (query) => {
      const socket = new ScriptedSocket(query);
      this.sockets.push(socket);
      return socket;
    },
    size: () => ({ cols: 100, rows: 30 }),
    onRefused: (code) => this.refused.push(code),
    onDropped: (bytes, loss) => this.dropped.push([bytes, loss]),
    onStatus: (status) => this.statuses.push(status),
    tap: (bytes, offset) => this.tapped.push([offset, bytes.length]),
    timers: {
      set: (run, afterMs) => {
        this.#timers.set(this.#next, { at: this.now + afterMs, run });
        return this.#next++;
      },
      clear: (timer) => void this.#timers.delete(timer),
      now: () => this.now,
    },
    random: () => 1,
  });

  get socket(): ScriptedSocket {
    const last = this.sockets.at(-1);
    if (last === undefined) throw new Error('nothing connected yet');
    return last;
  }

  get phase(): string {
    return this.attachment.status.phase;
  }

  /** Parses up to `count` writes. */
  parse(count = Infinity): void {
    for (; count > 0 && this.#pending.length > 0; count -= 1) {
      const write = this.#pending.shift();
      if (write === undefined) return;
      this.shown += new TextDecoder().decode(write.bytes);
      write.done();
    }
  }

  advance(ms: number): void {
    this.now += ms;
    for (const [id, timer] of [...this.#timers]) {
      if (timer.at <= this.now && this.#timers.delete(id)) timer.run();
    }
  }
}
