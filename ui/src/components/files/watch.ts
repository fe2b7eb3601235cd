/** The changes of a sandbox's files, followed once for all views of it.
 *
 * A watch holds one of the six connections that a browser opens to a server: few are open at once,
 * and a page out of view has none. Whoever has none looks again when the page comes back.
 */

import { useEffect, useState } from 'react';
import { retryDelay } from '../../retry';
import { Problem } from '../../api/call';
import { files, type Change } from './calls';

/** `all`: anything may have changed. */
export type News = 'all' | ReadonlySet<string>;
export type Liveness = 'live' | 'partly' | 'waiting' | 'off';

interface Listener {
  readonly onNews: (news: News) => void;
  readonly onState: (state: Liveness) => void;
}

const WATCHES_MAX = 2;
/** Changes that come together are told together. */
const GATHER_MS = 250;
/** More changed paths than these are `all`. */
const PATHS_MAX = 500;
/** Longer than three of the watch's own signs of life. */
const SILENCE_MS = 50_000;
const PACE = { firstMs: 1_000, mostMs: 30_000 };

const watches = new Map<string, Watch>();

class Watch {
  readonly listeners = new Set<Listener>();
  #state: Liveness = 'waiting';
  #abort: AbortController | null = null;
  #attempts = 0;
  #timer: number | undefined;
  #gathered = new Set<string>();
  #gathering: number | undefined;
  #lost = false;

  constructor(readonly id: string) {
    document.addEventListener('visibilitychange', this.#look);
    this.#look();
  }

  get state(): Liveness {
    return this.#state;
  }

  end(): void {
    document.removeEventListener('visibilitychange', this.#look);
    this.#stop();
    window.clearTimeout(this.#gathering);
  }

  readonly #look = (): void => {
    if (document.hidden) this.#stop();
    else if (this.#abort === null) void this.#run();
  };

  #stop(): void {
    window.clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#abort = null;
  }

  async #run(): Promise<void> {
    const mine = new AbortController();
    this.#abort = mine;
    let silence: number | undefined;
    const felt = (): void => {
      window.clearTimeout(silence);
      silence = window.setTimeout(() => mine.abort(), SILENCE_MS);
    };
    felt();
    try {
      const changes = await files.watch(this.id, mine.signal, felt);
      this.#begun();
      for await (const change of changes) this.#take(change);
    } catch (reason) {
      if (reason instanceof Problem && reason.status >= 400 && reason.status < 500) {
        this.#say('off');
        return;
      }
    } finally {
      window.clearTimeout(silence);
    }
    if (this.#abort !== mine) return;
    this.#abort = null;
    this.#say('waiting');
    const delay = retryDelay(this.#attempts, PACE, Math.random());
    this.#attempts += 1;
    this.#timer = window.setTimeout(this.#look, delay);
  }

  #begun(): void {
    this.#attempts = 0;
    this.#lost = false;
    this.#say('live');
    // What happened before it began was not told.
    this.#tell('all');
  }

  #take(change: Change): void {
    if (change.type === 'overflow') {
      this.#say('partly');
      this.#lost = true;
    }
    this.#gathered.add(change.path);
    if (change.from !== undefined) this.#gathered.add(change.from);
    this.#gathering ??= window.setTimeout(() => {
      const paths = this.#gathered;
      this.#gathered = new Set();
      this.#gathering = undefined;
      this.#tell(this.#lost || paths.size > PATHS_MAX ? 'all' : paths);
      this.#lost = false;
    }, GATHER_MS);
  }

  #say(state: Liveness): void {
    this.#state = state;
    for (const { onState } of this.listeners) onState(state);
  }

  #tell(news: News): void {
    for (const { onNews } of this.listeners) onNews(news);
  }
}

function follow(id: string, listener: Listener): () => void {
  let watch = watches.get(id);
  if (watch === undefined && watches.size < WATCHES_MAX) {
    watch = new Watch(id);
    watches.set(id, watch);
  }
  if (watch === undefined) return lookAgain(listener);
  const { listeners } = watch;
  listeners.add(listener);
  listener.onState(watch.state);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    watches.get(id)?.end();
    watches.delete(id);
  };
}

/** Without a watch: whenever the page comes back into view. */
function lookAgain({ onNews, onState }: Listener): () => void {
  const look = (): void => {
    if (!document.hidden) onNews('all');
  };
  onState('off');
  document.addEventListener('visibilitychange', look);
  window.addEventListener('focus', look);
  return () => {
    document.removeEventListener('visibilitychange', look);
    window.removeEventListener('focus', look);
  };
}

/** Calls with what changed, and returns how much is told. `onNews` is the same function at each
 *  call. A sandbox that does not run changes nothing. */
export function useWatch(id: string, live: boolean, onNews: (news: News) => void): Liveness {
  const [state, setState] = useState<Liveness>('waiting');
  useEffect(
    () => (live ? follow(id, { onNews, onState: setState }) : undefined),
    [id, live, onNews],
  );
  return live ? state : 'off';
}
