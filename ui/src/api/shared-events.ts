/**
 * The event log, followed once for all tabs of this browser.
 *
 * HTTP/1.1 allows six connections to a server, and each stream takes one. The tab that holds a lock
 * leads: it follows the log and repeats it to the others. A tab in view takes the lead of one that is
 * out of view, whose timers the browser slows down, and of one that does not answer. Without locks,
 * as on an address without TLS, each tab follows by itself.
 */

import { followEvents, type EventHandlers } from './events';
import type { Envelope } from './types';

type Message =
  | { readonly is: 'event'; readonly event: Envelope }
  | { readonly is: 'connect' }
  | { readonly is: 'connection'; readonly live: boolean }
  | { readonly is: 'ask' }
  | { readonly is: 'leads'; readonly visible: boolean; readonly live: boolean };

/** How often a tab in view asks for its leader, and how long it waits for the answer: a leader that
 *  draws something large is busy for a second or two, and keeps the lead. */
const ASK_MS = 4_000;
const ANSWER_MS = 3_000;
/** After so long out of view all is fetched again: a tab may have slept. */
const ASLEEP_MS = 30_000;

/** Follows until the returned function is called. */
export function shareEvents(handlers: EventHandlers): () => void {
  const { navigator: browser } = globalThis as { readonly navigator?: { locks?: LockManager } };
  const locks = browser?.locks;
  if (locks === undefined) return followEvents(handlers);
  const tab = new Tab(locks, handlers);
  return () => tab.end();
}

class Tab {
  readonly #locks: LockManager;
  readonly #handlers: EventHandlers;
  /** Of this server: another may be at another path of the same origin. */
  // eslint-disable-next-line words/written -- a name, which nobody reads
  readonly #name = `atoll.events ${new URL('.', document.baseURI).pathname}`;
  readonly #channel = new BroadcastChannel(this.#name);
  readonly #ended = new AbortController();
  readonly #asking: number;
  #unanswered: number | undefined;
  /** Ends this tab's own stream, while it leads. */
  #stopLeading: (() => void) | null = null;
  #live = true;
  /** Whether it waits for the lead already. */
  #waiting = false;
  /** Whether it was told of a connection, by its own stream or its leader. */
  #connected = false;
  #hiddenSince: number | null = null;

  constructor(locks: LockManager, handlers: EventHandlers) {
    this.#locks = locks;
    this.#handlers = handlers;
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#hear(data);
    document.addEventListener('visibilitychange', this.#onVisibility);
    this.#asking = window.setInterval(() => this.#ask(), ASK_MS);
    this.#ask();
    this.#queue({});
  }

  end(): void {
    this.#ended.abort();
    this.#stopLeading?.();
    this.#stopLeading = null;
    window.clearInterval(this.#asking);
    window.clearTimeout(this.#unanswered);
    document.removeEventListener('visibilitychange', this.#onVisibility);
    this.#channel.close();
  }

  /** Waits for the lead, or takes it with `steal`; whoever loses it waits again. */
  #queue(options: { readonly steal?: true }): void {
    const steals = options.steal === true;
    if (!steals && this.#waiting) return;
    if (!steals) this.#waiting = true;
    const granted = (): Promise<void> => {
      if (!steals) this.#waiting = false;
      return this.#lead();
    };
    this.#locks
      .request(this.#name, steals ? options : { signal: this.#ended.signal }, granted)
      .catch(() => {
        const led = this.#stopLeading;
        this.#stopLeading = null;
        if (led === null || this.#ended.signal.aborted) return;
        led();
        // What the new leader said meanwhile went unheard: all is fetched again.
        this.#connect();
        this.#queue({});
      });
  }

  /** Leads until the end, or until another tab takes the lead. */
  #lead(): Promise<void> {
    if (this.#ended.signal.aborted || this.#stopLeading !== null) return Promise.resolve();
    this.#answered();
    return new Promise((resolve) => {
      const stop = followEvents({
        onEvent: (event) => {
          this.#handlers.onEvent(event);
          this.#tell({ is: 'event', event });
        },
        onConnect: () => {
          this.#connected = true;
          this.#handlers.onConnect();
          this.#tell({ is: 'connect' });
        },
        onConnection: (live) => {
          this.#live = live;
          this.#handlers.onConnection(live);
          this.#tell({ is: 'connection', live });
        },
        lingers: () => this.#handlers.lingers(),
      });
      this.#stopLeading = () => {
        stop();
        resolve();
      };
      this.#tell(this.#leads());
    });
  }

  #hear(message: Message): void {
    if (message.is === 'ask') {
      if (this.#stopLeading !== null) this.#tell(this.#leads());
      return;
    }
    // A leader whose lead was taken may still say a word.
    if (this.#stopLeading !== null) return;
    this.#answered();
    switch (message.is) {
      case 'event':
        this.#handlers.onEvent(message.event);
        break;
      case 'connect':
        this.#connect();
        break;
      case 'connection':
        this.#handlers.onConnection(message.live);
        break;
      case 'leads':
        this.#follow(message);
    }
  }

  #follow({ visible, live }: { readonly visible: boolean; readonly live: boolean }): void {
    if (!visible && isVisible()) this.#queue({ steal: true });
    else {
      this.#handlers.onConnection(live);
      if (!this.#connected) this.#connect();
    }
  }

  #connect(): void {
    this.#connected = true;
    this.#handlers.onConnect();
  }

  #leads(): Message {
    return { is: 'leads', visible: isVisible(), live: this.#live };
  }

  /** Asks for the leader while this tab is in view; takes the place of one that is silent. */
  #ask(): void {
    if (this.#stopLeading !== null || !isVisible()) return;
    this.#tell({ is: 'ask' });
    this.#unanswered ??= window.setTimeout(() => {
      this.#unanswered = undefined;
      if (this.#stopLeading === null && isVisible()) this.#queue({ steal: true });
    }, ANSWER_MS);
  }

  /** Waits for no answer any more, so that the next question may wait for its own. */
  #answered(): void {
    window.clearTimeout(this.#unanswered);
    this.#unanswered = undefined;
  }

  readonly #onVisibility = (): void => {
    if (!isVisible()) {
      this.#hiddenSince = Date.now();
      if (this.#stopLeading !== null) this.#tell(this.#leads());
      return;
    }
    const slept = this.#hiddenSince !== null && Date.now() - this.#hiddenSince > ASLEEP_MS;
    this.#hiddenSince = null;
    if (this.#stopLeading !== null) return;
    if (slept) this.#connect();
    this.#ask();
  };

  #tell(message: Message): void {
    if (!this.#ended.signal.aborted) this.#channel.postMessage(message);
  }
}

function isVisible(): boolean {
  return document.visibilityState === 'visible';
}
