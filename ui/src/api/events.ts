/**
 * The event log, followed for as long as the page is in view.
 *
 * Every (re)connection calls `onConnect`, upon which the caller refetches: events are a
 * nudge to look again, so nothing missed while away can leave the page wrong.
 */

import { followFeed, type FeedHandlers } from './feed';
import type { SseEvent } from './sse';
import type { Envelope } from './types';

export interface EventHandlers extends Pick<
  FeedHandlers,
  'onConnect' | 'onConnection' | 'lingers'
> {
  onEvent(envelope: Envelope): void;
}

/** Follows until the returned function is called. */
export function followEvents(handlers: EventHandlers): () => void {
  let lastId: string | null = null;

  function onEvent({ id, event, data }: SseEvent): void {
    lastId = id ?? lastId;
    // Some events are no longer kept: all is fetched again, as after a new connection.
    if (event === 'gap') handlers.onConnect();
    else handlers.onEvent(JSON.parse(data) as Envelope);
  }

  return followFeed({
    request: () => ({
      path: 'v1/events/stream',
      headers: lastId === null ? {} : { 'Last-Event-ID': lastId },
    }),
    onEvents: (events) => events.forEach(onEvent),
    onConnect: () => handlers.onConnect(),
    onConnection: (connected) => handlers.onConnection(connected),
    lingers: () => handlers.lingers(),
  });
}
