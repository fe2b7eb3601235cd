/**
 * A stream of server-sent events, followed for as long as the page is in view.
 *
 * It goes on over lost connections, networks that went away without a word, and a page that was out
 * of view. Where each connection begins is the follower's business: `request` says it anew.
 */

import { BROWSER_TIMERS, Pulse } from '../pulse';
import { retryDelay } from '../retry';
import { dropConnections, address, reportLoggedOut } from './call';
import { keyHeaders } from './page-key';
import { traceHeaders } from './trace';
import { SseParser, type SseEvent } from './sse';

export interface FeedRequest {
  /** The path, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FeedHandlers {
  /** What the next connection asks for. */
  request(): FeedRequest;
  /** A connection stands. */
  onConnect(): void;
  /** The events of one piece of the stream. An error ends the connection, and a new one is made. */
  onEvents(events: readonly SseEvent[]): void;
  /** Said within five seconds of the truth. */
  onConnection(connected: boolean): void;
  /** Whether events are wanted while the page is out of view. */
  lingers(): boolean;
  /** Reads a refusal; false ends the following. */
  onRefused?(response: Response): Promise<boolean>;
}

const PACE = { firstMs: 500, mostMs: 8_000 };
const HEARTBEAT_MS = 2_000;
/** A page out of view gives its connection back: browsers allow six per server. */
const HIDDEN_LINGER_MS = 30_000;

/** Follows until the returned function is called. */
export function followFeed(handlers: FeedHandlers): () => void {
  let attempts = 0;
  let stopped = false;
  let abort: AbortController | null = null;
  let timer: number | undefined;

  async function run(): Promise<void> {
    window.clearTimeout(timer);
    abort?.abort();
    const mine = new AbortController();
    abort = mine;
    // Ends only this reading, and not the following.
    const reading = new AbortController();
    mine.signal.addEventListener('abort', () => reading.abort());
    const pulse = new Pulse(BROWSER_TIMERS, {
      onQuiet: (quiet) => handlers.onConnection(!quiet),
      onSilence: () => {
        reading.abort();
        dropConnections();
      },
    });
    pulse.begin(HEARTBEAT_MS);
    let goesOn = true;
    try {
      goesOn = await read(reading.signal, () => pulse.felt());
    } catch {
      // Any failure of a stream has one cure, which follows: connect again.
    } finally {
      pulse.end();
    }
    if (stopped || abort !== mine || mine.signal.aborted) return;
    handlers.onConnection(false);
    if (!goesOn) {
      end();
      return;
    }
    timer = window.setTimeout(() => void run(), retryDelay(attempts, PACE, Math.random()));
    attempts += 1;
  }

  /** Reads one connection to its end; false where following is over. */
  async function read(signal: AbortSignal, felt: () => void): Promise<boolean> {
    const { path, headers = {} } = handlers.request();
    const response = await fetch(address(path), {
      credentials: 'same-origin',
      headers: { Accept: 'text/event-stream', ...keyHeaders(), ...traceHeaders(), ...headers },
      signal,
    });
    if (response.status === 401) reportLoggedOut();
    if (!response.ok || response.body === null) {
      return (await handlers.onRefused?.(response)) ?? true;
    }
    attempts = 0;
    felt();
    handlers.onConnection(true);
    handlers.onConnect();
    const parser = new SseParser();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      felt();
      if (done) return true;
      const events = parser.feed(decoder.decode(value, { stream: true }));
      if (events.length > 0) handlers.onEvents(events);
    }
  }

  function onVisibility(): void {
    window.clearTimeout(timer);
    if (document.visibilityState === 'hidden') {
      if (!handlers.lingers()) timer = window.setTimeout(() => abort?.abort(), HIDDEN_LINGER_MS);
    } else if (abort?.signal.aborted !== false) {
      void run();
    }
  }

  function onOnline(): void {
    attempts = 0;
    void run();
  }

  function onOffline(): void {
    handlers.onConnection(false);
  }

  function end(): void {
    stopped = true;
    window.clearTimeout(timer);
    abort?.abort();
    document.removeEventListener('visibilitychange', onVisibility);
    window.removeEventListener('online', onOnline);
    window.removeEventListener('offline', onOffline);
  }

  document.addEventListener('visibilitychange', onVisibility);
  window.addEventListener('offline', onOffline);
  window.addEventListener('online', onOnline);
  void run();
  return end;
}
