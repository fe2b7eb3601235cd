/** The stream of a worker over connections that end: nothing missed, nothing twice. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { followWorker } from './follow';

/** One connection, whose server side is the test. */
class Stream {
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  readonly response: Response;

  constructor(
    readonly url: URL,
    signal: AbortSignal,
  ) {
    const body = new ReadableStream<Uint8Array>({ start: (made) => (this.#controller = made) });
    this.response = new Response(body, { status: 200 });
    signal.addEventListener('abort', () => this.#controller?.error(new Error('aborted')));
  }

  events(...numbers: readonly number[]): void {
    const text = numbers.map((seq) => {
      const event = { worker_id: 'w', seq, event_type: 'worker.event', at: '', payload: {} };
      return `id: ${seq}\nevent: worker.event\ndata: ${JSON.stringify(event)}\n\n`;
    });
    this.#controller?.enqueue(new TextEncoder().encode(text.join('')));
  }

  drop(): void {
    this.#controller?.error(new Error('dropped'));
  }
}

const streams: Stream[] = [];
const said: (number | string | null)[] = [];
let refusal: Response | null = null;
let stop = (): void => undefined;

const last = (): Stream => {
  const stream = streams.at(-1);
  if (stream === undefined) throw new Error('no stream');
  return stream;
};
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers();
  streams.length = said.length = 0;
  refusal = null;
  const timers = {
    setTimeout: (run: () => void, ms: number) => setTimeout(run, ms),
    clearTimeout: (timer: number) => clearTimeout(timer),
  };
  vi.stubGlobal('window', Object.assign(new EventTarget(), timers));
  const shown = { visibilityState: 'visible', baseURI: 'http://localhost/' };
  vi.stubGlobal('document', Object.assign(new EventTarget(), shown));
  vi.stubGlobal('localStorage', { getItem: () => null });
  vi.stubGlobal('fetch', (url: URL, { signal }: { signal: AbortSignal }) => {
    if (refusal !== null) return Promise.resolve(refusal);
    const made = new Stream(url, signal);
    streams.push(made);
    return Promise.resolve(made.response);
  });
});

afterEach(async () => {
  stop();
  await pass(0);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

async function follow(after = 0): Promise<void> {
  stop = followWorker('a b', after, {
    onEvents: (events) => said.push(...events.map(({ seq }) => seq)),
    onConnect: () => undefined,
    onConnection: () => undefined,
    onStale: (number) => said.push(`stale ${number}`),
    onGone: () => said.push('gone'),
  });
  await pass(0);
}

test('each connection resumes after the last event, and a repeat is not shown again', async () => {
  await follow(2);
  expect(last().url.href).toBe('http://localhost/v1/workers/a%20b/stream?cursor=2');
  last().events(3, 4);
  await pass(0);
  last().drop();
  await pass(1_000);
  expect(last().url.search).toBe('?cursor=4');
  last().events(4, 5);
  await pass(0);
  expect(said).toEqual([3, 4, 5]);
});

test('a gap is asked for again, and is passed over only where it stays', async () => {
  await follow();
  last().events(1, 3);
  await pass(1_000);
  expect(streams).toHaveLength(2);
  expect(last().url.search).toBe('?cursor=1');
  last().events(2, 3);
  await pass(0);
  expect(said).toEqual([1, 2, 3]);
  last().events(5);
  await pass(2_000);
  last().events(5, 6);
  await pass(0);
  expect(said).toEqual([1, 2, 3, 5, 6]);
});

test('a stale cursor goes on where events are kept', async () => {
  refusal = Response.json({ code: 'stale_cursor', detail: 'up to 9' }, { status: 410 });
  await follow();
  refusal = null;
  await pass(1_000);
  expect(last().url.search).toBe('?cursor=9');
  last().events(10);
  await pass(0);
  expect(said).toEqual(['stale 9', 10]);
});

test('a worker that is not there ends the following; a server that fails does not', async () => {
  refusal = Response.json({ code: 'unavailable' }, { status: 503 });
  await follow();
  expect(said).toEqual([]);
  refusal = new Response('{}', { status: 404 });
  await pass(1_000);
  expect(said).toEqual(['gone']);
  refusal = null;
  await pass(60_000);
  expect(streams).toEqual([]);
});

test('frames that are none of ours are passed over', async () => {
  await follow();
  last().events(1);
  await pass(0);
  const fetches = streams.length;
  last().events(Number.NaN, 2);
  await pass(0);
  expect(said).toEqual([1, 2]);
  expect(streams).toHaveLength(fetches);
});
