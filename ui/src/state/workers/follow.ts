/**
 * Follows the stream of one worker over lost connections, each resumed after the last event seen:
 * nothing is missed, and nothing is shown twice.
 */

import { followFeed } from '../../api/feed';
import { workerAt } from '../../api/workers';
import { readEvent, resumeAfter, type WorkerEvent } from './events';

export interface WorkerFollower {
  /** Events in their order, as many as came at once. */
  onEvents(events: readonly WorkerEvent[]): void;
  /** A connection stands; what is not numbered and came before it is lost. */
  onConnect(): void;
  onConnection(connected: boolean): void;
  /** Events up to this number are no longer kept. */
  onStale(last: number): void;
  /** The worker is not there, or not for this person. */
  onGone(): void;
}

/** Events after `after`, until the returned function is called. */
export function followWorker(id: string, after: number, follower: WorkerFollower): () => void {
  let last = after;
  /** The number after which events were missing, as the connection before this one said. */
  let missed: number | null = null;

  function isNext({ seq }: WorkerEvent): boolean {
    if (seq === null) return true;
    if (seq <= last) return false;
    if (seq > last + 1 && missed !== last) {
      // Numbers have no gap: what is missing comes with another connection, or is never there.
      missed = last;
      throw new Error(`event ${last + 1} is missing`);
    }
    last = seq;
    return true;
  }

  async function onRefused(response: Response): Promise<boolean> {
    if (response.status === 404 || response.status === 403) {
      follower.onGone();
      return false;
    }
    const resumed = resumeAfter(await response.text());
    // Less than `last`: the stream was set back.
    if (resumed !== null && resumed !== last) {
      last = resumed;
      follower.onStale(resumed);
    }
    return true;
  }

  return followFeed({
    request: () => ({ path: `${workerAt(id)}/stream?cursor=${last}` }),
    onConnect: () => follower.onConnect(),
    onConnection: (connected) => follower.onConnection(connected),
    lingers: () => false,
    onRefused,
    onEvents: (frames) => {
      const fresh: WorkerEvent[] = [];
      try {
        for (const { data } of frames) {
          const event = readEvent(data);
          if (event !== null && isNext(event)) fresh.push(event);
        }
      } finally {
        if (fresh.length > 0) follower.onEvents(fresh);
      }
    },
  });
}
