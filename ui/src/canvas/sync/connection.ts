/**
 * One browser's connection to the document of a dashboard, over any number of reconnects.
 *
 * What is edited without a connection is kept in the document, and merges with the next sync. It
 * knows no React and no DOM: the socket, the clock and chance come in. The promise it keeps: the
 * document is never made anew by a reconnect, only by `onRefused`, and its owner does that.
 */

import { Awareness, removeAwarenessStates } from 'y-protocols/awareness';
import * as Y from 'yjs';

import { t, worded } from '../../language/t';
import { Pulse } from '../../pulse';
import { retryDelay } from '../../retry';
import { Alarm, type Timers } from '../../terminal/attach/alarm';
import { askFrame, awarenessFrame, readFrame, receive, updateFrame } from './wire';
import type { Frame, Person, Role } from './wire';

/** The part of WebSocket that is used, so that tests can script one. */
export interface DocumentSocket {
  binaryType: string;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  send(data: string | Uint8Array): void;
  close(code?: number): void;
}

export interface DocumentStatus {
  /** `over`: the way in has ended, or the dashboard is gone; nothing is tried again. */
  readonly phase: 'connecting' | 'live' | 'waiting' | 'over';
  /** Why it is over, in words. */
  readonly reason: string | null;
  /** The document was here once, complete. */
  readonly loaded: boolean;
  readonly role: Role | null;
  readonly people: readonly Person[];
  /** Nothing here that the server has not kept. */
  readonly saved: boolean;
}

export interface ConnectionOptions {
  readonly doc: Y.Doc;
  readonly awareness: Awareness;
  readonly connect: () => DocumentSocket;
  readonly onStatus: (status: DocumentStatus) => void;
  /** The server did not take what was sent: the document here is another from now on. */
  readonly onRefused: (code: string, message: string) => void;
  readonly onRenamed: (name: string) => void;
  readonly timers: Timers;
  /** 0 ≤ n < 1. */
  readonly random: () => number;
}

const PACE = { firstMs: 250, mostMs: 5_000 };
/** Letters typed within this time travel together. */
const GATHER_MS = 40;
/** Cursors move at most so often: 20 times a second. */
const AWARENESS_MS = 50;
const START_TIMEOUT_MS = 10_000;
const CLOSE_NORMAL = 1000;
const OVER = worded<Readonly<Record<number, string>>>(() => ({
  4401: t`Your way in has ended.`,
  4403: t`You may no longer see this dashboard.`,
  4404: t`This dashboard is gone.`,
}));
/** The server has too many connections: others first. */
const CLOSE_TOO_MANY = 4429;

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #retry: Alarm;
  readonly #start: Alarm;
  readonly #gather: Alarm;
  readonly #spread: Alarm;
  readonly #pulse: Pulse;
  #status: DocumentStatus = {
    phase: 'connecting',
    reason: null,
    loaded: false,
    role: null,
    people: [],
    saved: true,
  };
  #socket: DocumentSocket | null = null;
  #attempts = 0;
  /** Updates that were made here and not sent yet. */
  #made: Uint8Array[] = [];
  /** What was sent, and not said to be kept yet. */
  #unkept = 0;
  #disposed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { timers, doc, awareness } = options;
    this.#retry = new Alarm(timers);
    this.#start = new Alarm(timers);
    this.#gather = new Alarm(timers);
    this.#spread = new Alarm(timers);
    this.#pulse = new Pulse(timers, {
      onQuiet: () => undefined,
      onSilence: () => this.#onClose(0),
    });
    doc.on('update', this.#onUpdate);
    awareness.on('update', this.#onAwareness);
  }

  get status(): DocumentStatus {
    return this.#status;
  }

  open(): void {
    this.#connect();
  }

  /** The page woke up: a waiting connection is tried at once, a suspect one made anew. */
  wake(suspect: boolean): void {
    const { phase } = this.#status;
    if (phase !== 'waiting' && !(suspect && phase === 'live')) return;
    this.#attempts = 0;
    this.#connect();
  }

  dispose(): void {
    this.#disposed = true;
    const { doc, awareness } = this.#options;
    // Others see at once that this person left.
    if (this.#status.phase === 'live') {
      this.#sendMade();
      removeAwarenessStates(awareness, [doc.clientID], 'left');
      this.#socket?.send(awarenessFrame(awareness, [doc.clientID]));
    }
    doc.off('update', this.#onUpdate);
    awareness.off('update', this.#onAwareness);
    this.#hangUp();
    this.#retry.clear();
  }

  readonly #onUpdate = (update: Uint8Array, origin: unknown): void => {
    if (origin === this) return;
    this.#made.push(update);
    this.#set({ saved: false });
    if (!this.#gather.isSet) this.#gather.set(() => this.#sendMade(), GATHER_MS);
  };

  readonly #onAwareness = (_: unknown, origin: unknown): void => {
    if (origin === this || origin === 'left' || this.#spread.isSet) return;
    this.#spread.set(() => this.#sendAwareness(), AWARENESS_MS);
  };

  #connect(): void {
    this.#hangUp();
    this.#retry.clear();
    this.#set({ phase: 'connecting' });
    const socket = this.#options.connect();
    socket.binaryType = 'arraybuffer';
    socket.onmessage = ({ data }) => this.#onMessage(data);
    socket.onclose = ({ code }) => this.#onClose(code);
    this.#socket = socket;
    this.#start.set(() => this.#onClose(0), START_TIMEOUT_MS);
  }

  #onMessage(data: unknown): void {
    this.#pulse.felt();
    if (data instanceof ArrayBuffer) this.#onBytes(new Uint8Array(data));
    else if (typeof data === 'string') {
      const frame = readFrame(data);
      if (frame !== null) this.#onFrame(frame);
    }
  }

  #onBytes(bytes: Uint8Array): void {
    const { doc, awareness } = this.#options;
    const { answer, complete } = receive(bytes, doc, awareness, this);
    if (answer !== null) {
      // The answer to the server's question holds all that it lacks.
      this.#made = [];
      this.#unkept += 1;
      this.#socket?.send(answer);
    }
    if (!complete) return;
    this.#attempts = 0;
    this.#start.clear();
    this.#set({ phase: 'live', loaded: true });
    this.#sendMade();
    this.#sendAwareness();
  }

  #onFrame(frame: Frame): void {
    switch (frame.type) {
      case 'welcome':
        this.#set({ role: frame.role, people: frame.people });
        this.#socket?.send(askFrame(this.#options.doc));
        break;
      case 'role':
        this.#set({ role: frame.role });
        break;
      case 'saved':
        this.#unkept = Math.max(0, this.#unkept - 1);
        this.#set({ saved: this.#unkept === 0 && this.#made.length === 0 });
        break;
      case 'refused':
        this.#options.onRefused(frame.code, frame.message);
        break;
      case 'renamed':
        this.#options.onRenamed(frame.name);
        break;
      case 'heartbeat':
        this.#pulse.begin(frame.everyMs);
        break;
    }
  }

  #sendMade(): void {
    this.#gather.clear();
    if (this.#status.phase !== 'live' || this.#made.length === 0) return;
    const update = this.#made.length === 1 ? this.#made[0] : Y.mergeUpdates(this.#made);
    this.#made = [];
    if (update === undefined) return;
    this.#unkept += 1;
    this.#socket?.send(updateFrame(update));
  }

  #sendAwareness(): void {
    const { doc, awareness } = this.#options;
    if (this.#status.phase !== 'live' || awareness.getLocalState() === null) return;
    this.#socket?.send(awarenessFrame(awareness, [doc.clientID]));
  }

  #onClose(code: number): void {
    this.#hangUp();
    this.#forgetOthers();
    const over = OVER()[code];
    if (over !== undefined) {
      this.#set({ phase: 'over', reason: over });
      return;
    }
    if (code === CLOSE_TOO_MANY) this.#attempts = Math.max(this.#attempts, 4);
    const delay = retryDelay(this.#attempts, PACE, this.#options.random());
    this.#attempts += 1;
    this.#retry.set(() => this.#connect(), delay);
    this.#set({ phase: 'waiting' });
  }

  /** Nothing is known of others while nothing comes from the server. */
  #forgetOthers(): void {
    const { doc, awareness } = this.#options;
    const others = [...awareness.getStates().keys()].filter((client) => client !== doc.clientID);
    removeAwarenessStates(awareness, others, this);
  }

  #hangUp(): void {
    this.#start.clear();
    this.#gather.clear();
    this.#spread.clear();
    this.#pulse.end();
    this.#unkept = 0;
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    socket.onmessage = socket.onclose = null;
    socket.close(CLOSE_NORMAL);
  }

  #set(change: Partial<DocumentStatus>): void {
    const next = { ...this.#status, ...change };
    const keys = Object.keys(change) as (keyof DocumentStatus)[];
    if (keys.every((key) => this.#status[key] === next[key])) return;
    this.#status = next;
    if (!this.#disposed) this.#options.onStatus(next);
  }
}
