import { beforeEach, describe, expect, it } from 'vitest';

import { Attachment, type AttachSocket } from './attach';
import type { AttachStatus } from './status';

/** A socket whose server side is the test. */
class ScriptedSocket implements AttachSocket {
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
class World {
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

let world: World;
beforeEach(() => {
  world = new World();
  world.attachment.open();
});

describe('the first connection', () => {
  it('names the client and the wished size, and no offset', () => {
    expect(Object.fromEntries(world.socket.query)).toEqual({
      client: 'me',
      heartbeat: 'true',
      cols: '100',
      rows: '30',
    });
  });

  it('writes the preamble first and does not count it', () => {
    world.socket.start(500, { preamble: btoa('RESET') });
    world.socket.bytes('abc');
    world.parse();
    expect(world.shown).toBe('RESETabc');
    expect(world.tapped).toEqual([[500, 3]]);
    world.advance(100);
    expect(world.socket.acks.at(-1)).toBe(503);
  });

  it('lets a size take effect between the bytes it came between', () => {
    world.socket.start(0);
    world.socket.bytes('wide');
    world.socket.text({ type: 'size', cols: 40, rows: 10 });
    world.socket.bytes('narrow');
    world.parse();
    expect(world.sizes).toEqual(['80x24@0', '40x10@4']);
  });

  it('is given up and tried again when the server stays silent', () => {
    world.advance(10_000);
    expect(world.phase).toBe('waiting');
    world.advance(250);
    expect(world.sockets).toHaveLength(2);
  });
});

describe('acknowledgements', () => {
  it('follow parsed bytes, never received ones', () => {
    world.socket.start(0);
    world.socket.bytes('x'.repeat(100_000));
    world.advance(1000);
    expect(world.socket.acks).toEqual([]);
    world.parse(3);
    expect(world.socket.acks.at(-1)).toBe(32_768);
  });

  it('come at least every 64 KiB during a flood', () => {
    world.socket.start(0);
    for (let i = 0; i < 40; i += 1) world.socket.bytes('x'.repeat(16_384));
    world.parse();
    const acks = world.socket.acks;
    for (let i = 1; i < acks.length; i += 1) {
      expect((acks[i] ?? 0) - (acks[i - 1] ?? 0)).toBeLessThanOrEqual(65_536);
    }
    expect(acks.at(-1)).toBe(40 * 16_384);
  });

  it('come when the screen is idle', () => {
    world.socket.start(0);
    world.parse();
    world.socket.bytes('hi');
    world.parse();
    expect(world.socket.acks).toEqual([]);
    world.advance(60);
    expect(world.socket.acks).toEqual([2]);
  });

  it('never name an offset from before the first byte of a terminal with history', () => {
    world.socket.start(70_000, { preamble: btoa('RESET') });
    expect(world.socket.acks).toEqual([]);
    world.socket.bytes('hi');
    world.advance(1000);
    world.parse();
    world.advance(1000);
    expect(world.socket.acks).toEqual([70_002]);
  });

  it('never go back behind where a new connection began', () => {
    world.socket.start(0);
    world.socket.bytes('x'.repeat(100_000));
    world.parse(2);
    world.socket.drop(1006);
    world.advance(250);
    expect(world.socket.query.get('since')).toBe('100000');
    world.socket.start(100_000);
    world.parse();
    world.advance(1000);
    expect(world.socket.acks).toEqual([]);
    world.socket.bytes('on');
    world.parse();
    world.advance(1000);
    expect(world.socket.acks).toEqual([100_002]);
  });
});

describe('a paste', () => {
  const frames = (): number[] =>
    world.socket.sent.filter((frame) => typeof frame !== 'string').map(({ length }) => length);

  it('goes out in frames, as far as the server takes it in', () => {
    world.socket.start(0, { input_window: 32_768 });
    expect(world.attachment.send('x'.repeat(100_000))).toBe(true);
    expect(frames()).toEqual([16_384, 16_384]);
    world.socket.text({ type: 'input_taken', bytes: 16_384 });
    expect(frames()).toHaveLength(3);
  });

  it('that is refused on its way is not typed on, and its rest is told of', () => {
    world.socket.start(0, { input_window: 32_768 });
    world.attachment.send('x'.repeat(100_000));
    world.socket.text({ type: 'input_refused', reason: 'not_driver', message: 'no' });
    world.socket.text({ type: 'input_taken', bytes: 32_768 });
    expect(frames()).toHaveLength(2);
    expect(world.refused).toEqual(['not_driver']);
    expect(world.dropped).toEqual([[67_232, 'refused']]);
  });

  it('that is cut off is not typed on the next connection, and is told of', () => {
    world.socket.start(0, { input_window: 32_768 });
    world.attachment.send('x'.repeat(100_000));
    world.socket.drop(1006);
    expect(world.dropped).toEqual([[100_000, 'cut']]);
    world.advance(250);
    world.socket.start(0, { input_window: 32_768 });
    expect(frames()).toEqual([]);
  });
});

describe('a network that goes away without a word', () => {
  it('is noticed within twenty seconds, and the terminal comes back by itself', () => {
    world.socket.start(0);
    world.socket.bytes('one');
    for (let i = 0; i < 4; i += 1) world.advance(5_000);
    expect(world.phase).toBe('waiting');
    expect(world.attachment.status.drives).toBe(false);
    world.advance(250);
    expect(world.socket.query.get('since')).toBe('3');
    world.socket.start(3);
    expect(world.phase).toBe('live');
  });

  it('is not taken for a terminal that is silent: it has heartbeats', () => {
    world.socket.start(0);
    for (let i = 0; i < 60; i += 1) {
      world.advance(5_000);
      world.socket.text({ type: 'heartbeat' });
    }
    expect(world.phase).toBe('live');
    expect(world.sockets).toHaveLength(1);
  });

  it('is not taken for a page that was busy for a minute', () => {
    world.socket.start(0);
    world.advance(60_000);
    world.socket.text({ type: 'heartbeat' });
    world.advance(5_000);
    expect(world.phase).toBe('live');
  });
});

describe('resume', () => {
  it('continues at the next byte, with the same client id', () => {
    world.socket.start(0);
    world.socket.bytes('one');
    world.socket.drop(1006);
    expect(world.phase).toBe('waiting');
    world.advance(250);
    expect(world.socket.query.get('since')).toBe('3');
    expect(world.socket.query.get('client')).toBe('me');
    world.socket.start(3);
    world.socket.bytes('two');
    world.parse();
    expect(world.shown).toBe('onetwo');
    expect(world.attachment.status.resyncs).toBe(0);
  });

  it('starts afresh when told bytes are gone, and counts it', () => {
    world.socket.start(0);
    world.socket.bytes('one');
    world.socket.drop(1006);
    world.advance(250);
    world.socket.start(3);
    world.socket.text({ type: 'resync', from: 3, to: 9000, preamble: btoa('[R]') });
    world.socket.bytes('new');
    world.parse();
    world.advance(60);
    expect(world.shown).toBe('one[R]new');
    expect(world.attachment.status.resyncs).toBe(1);
    expect(world.socket.acks.at(-1)).toBe(9003);
  });

  it('backs off further with every failure and starts over after a success', () => {
    const waits = [];
    for (let i = 0; i < 12; i += 1) {
      world.socket.drop(1006);
      const wait = (world.attachment.status.retryAt ?? 0) - world.now;
      waits.push(wait);
      world.advance(wait);
    }
    expect(waits.slice(0, 5)).toEqual([250, 500, 1000, 1500, 1500]);
    expect(waits.slice(9)).toEqual([1500, 5000, 5000]);
    world.socket.start(0);
    world.socket.drop(1006);
    expect((world.attachment.status.retryAt ?? 0) - world.now).toBe(250);
  });

  it('is tried at once when the page wakes', () => {
    world.socket.start(0);
    world.socket.drop(1006);
    world.attachment.wake(false);
    expect(world.sockets).toHaveLength(2);
    world.advance(60_000);
    expect(world.sockets.filter((socket) => !socket.closed)).toHaveLength(0);
  });

  it('replaces a live connection only when it is suspect', () => {
    world.socket.start(0);
    world.attachment.wake(false);
    expect(world.sockets).toHaveLength(1);
    world.attachment.wake(true);
    expect(world.sockets).toHaveLength(2);
    expect(world.sockets[0]?.closed).toBe(true);
  });
});

describe('a screen that cannot keep up', () => {
  it('stops receiving before the write buffer overflows and resumes when drained', () => {
    world.socket.start(0);
    const chunk = 'x'.repeat(1024 * 1024);
    for (let i = 0; i < 9; i += 1) world.socket.bytes(chunk);
    expect(world.phase).toBe('waiting');
    expect(world.sockets[0]?.closed).toBe(true);
    world.parse();
    expect(world.sockets).toHaveLength(2);
    expect(world.socket.query.get('since')).toBe(String(9 * 1024 * 1024));
  });
});

describe('being superseded', () => {
  it('parks with no timer and comes back only when asked', () => {
    world.socket.start(0);
    world.socket.drop(4000);
    world.attachment.wake(true);
    world.advance(600_000);
    expect(world.phase).toBe('parked');
    expect(world.sockets).toHaveLength(1);
    world.attachment.takeBack();
    expect(world.sockets).toHaveLength(2);
  });
});

describe('input', () => {
  it('is sent as bytes while live', () => {
    world.socket.start(0);
    expect(world.attachment.send('é')).toBe(true);
    expect(world.socket.sent.at(-1)).toEqual(new Uint8Array([0xc3, 0xa9]));
  });

  it('is refused, not queued, while disconnected', () => {
    world.socket.start(0);
    world.socket.drop(1006);
    expect(world.attachment.send('rm -rf /\r')).toBe(false);
    world.advance(250);
    world.socket.start(0);
    expect(world.socket.sent.filter((frame) => typeof frame !== 'string')).toEqual([]);
  });

  it('of a size is sent by the driver only, and only when it changes', () => {
    world.socket.start(0, { driver: 'other' });
    world.parse();
    world.attachment.resize(50, 20);
    world.socket.text({ type: 'driver', client: 'me' });
    world.attachment.resize(80, 24);
    world.attachment.resize(50, 20);
    const resizes = world.socket.sent.filter((f) => typeof f === 'string' && f.includes('resize'));
    expect(resizes).toEqual(['{"type":"resize","cols":50,"rows":20}']);
  });
});

describe('a turn', () => {
  it('is known by the name the server gave, asked for once, and refusals are told', () => {
    world.socket.start(0, { client: 'me-2', driver: 'me' });
    expect(world.attachment.status.drives).toBe(false);
    world.attachment.requestControl();
    expect(world.socket.sent).toContain('{"type":"request_control"}');
    world.socket.text({ type: 'input_refused', reason: 'not_driver', message: 'somebody drives' });
    expect(world.refused).toEqual(['not_driver']);
    world.socket.text({ type: 'driver', client: 'me-2' });
    expect(world.attachment.status.drives).toBe(true);
    const sent = world.socket.sent.length;
    world.attachment.requestControl();
    expect(world.socket.sent.length).toBe(sent);
  });
});

describe('answers to terminal queries', () => {
  it('are given by the driver only, and only while live', () => {
    expect(world.attachment.mayAnswer()).toBe(false);
    world.socket.start(0);
    expect(world.attachment.mayAnswer()).toBe(true);
    world.socket.text({ type: 'driver', client: 'other' });
    expect(world.attachment.mayAnswer()).toBe(false);
  });
});

describe('a refusal by the server', () => {
  it('is passed on and ends nothing', () => {
    world.socket.start(0);
    world.socket.text({ type: 'error', code: 'input_full', message: 'nobody reads' });
    expect(world.refused).toEqual(['input_full']);
    expect(world.phase).toBe('live');
  });
});

describe('the end', () => {
  it('is shown with its code and not reconnected', () => {
    world.socket.start(0);
    world.socket.text({ type: 'exit', code: 3, offset: 0 });
    world.socket.drop(1000);
    expect(world.phase).toBe('ended');
    expect(world.attachment.status.exit).toEqual({ kind: 'code', code: 3 });
    world.advance(60_000);
    world.attachment.wake(true);
    expect(world.sockets).toHaveLength(1);
  });

  it('of a terminal that is no longer there is told apart', () => {
    world.socket.drop(4404);
    expect(world.phase).toBe('gone');
  });

  it('of a sandbox that does not run is final too', () => {
    world.socket.start(0);
    world.socket.drop(4409);
    world.advance(60_000);
    expect([world.phase, world.sockets.length]).toEqual(['gone', 1]);
  });

  it('of the way in, heard elsewhere while disconnected, ends every further try', () => {
    world.socket.drop(1006);
    world.attachment.revoke();
    world.advance(60_000);
    expect([world.phase, world.sockets.length]).toEqual(['revoked', 1]);
  });

  it('leaves nothing running once disposed', () => {
    world.socket.start(0);
    world.socket.bytes('late');
    world.attachment.dispose();
    world.statuses = [];
    world.parse();
    world.advance(60_000);
    expect(world.sockets).toHaveLength(1);
    expect(world.socket.closed).toBe(true);
    expect(world.statuses).toEqual([]);
  });

  it('ignores frames it does not know', () => {
    world.socket.start(0);
    world.socket.text({ type: 'agent_state', agent_state: 'running' });
    world.socket.onmessage?.({ data: 'not json' });
    expect(world.phase).toBe('live');
  });
});
