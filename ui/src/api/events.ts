/**
 * The event log, followed for as long as the page is in view.
 *
 * Every (re)connection calls `onConnect`, upon which the caller refetches: events are a
 * nudge to look again, so nothing missed while away can leave the page wrong.
 */

import { BROWSER_TIMERS, Pulse } from '../pulse';
import { retryDelay } from '../retry';
import { dropConnections, address, reportLoggedOut } from './call';
import { keyHeaders } from './page-key';
import { traceHeaders } from './trace';
import { SseParser } from './sse';
import type { Envelope } from './types';

export interface EventHandlers {
  onConnect(): void;
  onEvent(envelope: Envelope): void;
  /** Said within five seconds of the truth. */
  onConnection(connected: boolean): void;
  /** Whether events are wanted while the page is out of view. */
  lingers(): boolean;
}

const PACE = { firstMs: 500, mostMs: 8_000 };
const HEARTBEAT_MS = 2_000;
/** A page out of view gives its connection back: browsers allow six per server. */
const HIDDEN_LINGER_MS = 30_000;

/** Follows until the returned function is called. */
export function followEvents(handlers: EventHandlers): () => void {
  let attempts = 0;
  let lastId: string | null = null;
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
    try {
      await read(reading.signal, () => pulse.felt());
    } catch {
      // Any failure of a stream has one cure, which follows: connect again.
    } finally {
      pulse.end();
    }
    if (stopped || abort !== mine || mine.signal.aborted) return;
    handlers.onConnection(false);
    timer = window.setTimeout(() => void run(), retryDelay(attempts, PACE, Math.random()));
    attempts += 1;
  }

  async function read(signal: AbortSignal, felt: () => void): Promise<void> {
    const response = await fetch(address('v1/events/stream'), {
      credentials: 'same-origin',
      headers: {
        Accept: 'text/event-stream',
        ...keyHeaders(),
        ...traceHeaders(),
        ...(lastId === null ? {} : { 'Last-Event-ID': lastId }),
      },
      signal,
    });
    if (response.status === 401) reportLoggedOut();
    if (!response.ok || response.body === null) throw new Error(`stream: ${response.status}`);
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
      if (done) return;
      for (const event of parser.feed(decoder.decode(value, { stream: true }))) {
        lastId = event.id ?? lastId;
        // Some events are no longer kept: all is fetched again, as after a new connection.
        if (event.event === 'gap') handlers.onConnect();
        else handlers.onEvent(JSON.parse(event.data) as Envelope);
      }
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

  document.addEventListener('visibilitychange', onVisibility);
  window.addEventListener('offline', onOffline);
  window.addEventListener('online', onOnline);
  void run();
  return () => {
    stopped = true;
    window.clearTimeout(timer);
    abort?.abort();
    document.removeEventListener('visibilitychange', onVisibility);
    window.removeEventListener('online', onOnline);
    window.removeEventListener('offline', onOffline);
  };
}
