import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { call, downloadBytes } from './call';
import { followEvents } from './events';
import type { Envelope } from './types';

/** One connection to the stream, whose server side is the test. */
class Stream {
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  readonly response: Response;

  constructor(
    readonly headers: Readonly<Record<string, string>>,
    readonly signal: AbortSignal,
  ) {
    const body = new ReadableStream<Uint8Array>({ start: (made) => (this.#controller = made) });
    this.response = new Response(body, { status: 200 });
    signal.addEventListener('abort', () => this.#controller?.error(new Error('aborted')));
  }

  say(text: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(text));
  }

  event(position: number): void {
    const envelope = { id: `ev_${position}`, stream: 's', event_type: 'a.b', at: '', payload: {} };
    this.say(`id: ${position}\nevent: a.b\ndata: ${JSON.stringify(envelope)}\n\n`);
  }

  drop(): void {
    this.#controller?.error(new Error('dropped'));
  }
}

class World {
  readonly streams: Stream[] = [];
  readonly said: (boolean | string)[] = [];
  readonly window = new EventTarget();
  readonly document = Object.assign(new EventTarget(), {
    visibilityState: 'visible',
    baseURI: 'http://localhost/',
  });
  reachable = true;
  lingers = false;

  fetch = (
    _: URL,
    { headers, signal }: { headers: Record<string, string>; signal: AbortSignal },
  ) => {
    if (!this.reachable) return Promise.reject(new Error('unreachable'));
    const made = new Stream(headers, signal);
    this.streams.push(made);
    return Promise.resolve(made.response);
  };

  follow(): () => void {
    return followEvents({
      onConnect: () => undefined,
      onEvent: ({ id }: Envelope) => this.said.push(id),
      onConnection: (is) => {
        if (this.said.filter((one) => typeof one === 'boolean').at(-1) !== is) this.said.push(is);
      },
      lingers: () => this.lingers,
    });
  }

  get last(): Stream {
    const last = this.streams.at(-1);
    if (last === undefined) throw new Error('no stream');
    return last;
  }
}

let world: World;
let stop: (() => void) | null = null;

beforeEach(() => {
  vi.useFakeTimers();
  world = new World();
  const timers = {
    setTimeout: (run: () => void, ms: number) => setTimeout(run, ms),
    clearTimeout: (timer: number) => clearTimeout(timer),
  };
  vi.stubGlobal('window', Object.assign(world.window, timers));
  vi.stubGlobal('document', world.document);
  vi.stubGlobal('fetch', world.fetch);
  vi.stubGlobal('localStorage', { getItem: () => null });
  stop = world.follow();
});

afterEach(async () => {
  stop?.();
  // What ends by it still needs a window.
  await pass(0);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

test('a silent connection is said to be cut within five seconds, and goes on without a loss', async () => {
  await pass(0);
  world.last.event(1);
  await pass(0);
  expect(world.said).toEqual([true, 'ev_1']);
  await pass(5_000);
  expect(world.said).toEqual([true, 'ev_1', false]);
  world.last.event(2);
  await pass(0);
  expect(world.said).toEqual([true, 'ev_1', false, true, 'ev_2']);
  expect(world.streams).toHaveLength(1);
});

test('heartbeats every two seconds keep it live', async () => {
  await pass(0);
  for (let i = 0; i < 60; i += 1) {
    world.last.say(': still here\n\n');
    await pass(2_000);
  }
  expect(world.said).toEqual([true]);
  expect(world.streams).toHaveLength(1);
});

test('a dead connection is replaced, and the new one begins after the last event seen', async () => {
  await pass(0);
  world.last.event(7);
  await pass(21_000 + 8_000);
  expect(world.streams.length).toBeGreaterThan(1);
  expect(world.streams[0]?.signal.aborted).toBe(true);
  expect(world.last.headers['Last-Event-ID']).toBe('7');
  world.last.event(8);
  await pass(0);
  expect(world.said.filter((one) => typeof one === 'string')).toEqual(['ev_7', 'ev_8']);
  expect(world.said.filter((one) => typeof one === 'boolean').at(-1)).toBe(true);
});

test('a dropped connection and a refused one are said at once', async () => {
  await pass(0);
  world.reachable = false;
  world.last.drop();
  await pass(0);
  expect(world.said).toEqual([true, false]);
  await pass(60_000);
  world.reachable = true;
  await pass(9_000);
  expect(world.said.slice(0, 3)).toEqual([true, false, true]);
});

test('a browser without a network says so at once, and comes back with it', async () => {
  await pass(0);
  world.window.dispatchEvent(new Event('offline'));
  expect(world.said).toEqual([true, false]);
  world.window.dispatchEvent(new Event('online'));
  await pass(0);
  expect(world.said).toEqual([true, false, true]);
});

test('a page out of view gives its connection back, unless it notifies', async () => {
  await pass(0);
  world.document.visibilityState = 'hidden';
  world.lingers = true;
  world.document.dispatchEvent(new Event('visibilitychange'));
  for (let i = 0; i < 30; i += 1) {
    world.last.say(': still here\n\n');
    await pass(2_000);
  }
  expect(world.last.signal.aborted).toBe(false);
  world.lingers = false;
  world.document.dispatchEvent(new Event('visibilitychange'));
  await pass(31_000);
  expect(world.last.signal.aborted).toBe(true);
});

test('silence ends every call, and the connections that the browser keeps', async () => {
  await pass(0);
  const called: string[] = [];
  const streams = world.fetch;
  vi.stubGlobal('fetch', (url: URL, { signal }: { signal: AbortSignal }) => {
    called.push(url.pathname);
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  });
  const refused = expect(call('GET', 'v1/sandboxes')).rejects.toThrow('cannot be reached');
  await pass(12_000);
  await refused;
  expect(called).toEqual(['/v1/sandboxes', ...Array<string>(6).fill('/healthz')]);
  vi.stubGlobal('fetch', streams);
  await pass(1_000);
  expect(world.said.at(-1)).toBe(true);
});

test('bytes that end in the middle are a problem in words', async () => {
  const cut = new ReadableStream({ start: (made) => made.error(new Error('aborted')) });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(cut)));
  await expect(downloadBytes('v1/sandboxes/sb_1/bundle')).rejects.toThrow('cannot be reached');
});
