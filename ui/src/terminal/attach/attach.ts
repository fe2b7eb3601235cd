/**
 * One browser's attachment to one terminal: connecting, resuming, and what frames say.
 *
 * It knows the wire contract and nothing of xterm, React or the DOM: bytes go to a
 * `Screen`, the socket and the clock come in. The promise it keeps: every byte of the
 * terminal reaches the screen exactly once and in order, over any number of
 * reconnects, or the screen starts afresh (`resync`).
 */

import { t } from '../../language/t';
import { Pulse } from '../../pulse';
import { retryDelay } from '../../retry';
import { Alarm, type Timers } from './alarm';
import { parseFrame } from './frames';
import type { ClientFrame, PeopleFrame, ServerFrame } from './frames';
import { Outbox } from './outbox';
import type { Loss } from '../screen/paste';
import type { Control, Party } from './party';
import type { Place, Pointer } from './pointers';
import { UNTOLD, type AttachStatus } from './status';
import { Stream, type Screen } from './stream';

/** The part of WebSocket that is used, so that tests can script one. */
export interface AttachSocket {
  binaryType: string;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  send(data: string | Uint8Array): void;
  close(code?: number): void;
}

export interface AttachOptions {
  readonly clientId: string;
  readonly screen: Screen;
  readonly connect: (query: URLSearchParams) => AttachSocket;
  /** The size this client would like, in cells; null when it does not know yet. */
  readonly size: () => { cols: number; rows: number } | null;
  /** The server refused something that was sent: `code` and a sentence. */
  readonly onRefused: (code: string, message: string) => void;
  /** So many bytes that were typed or pasted went nowhere. */
  readonly onDropped: (bytes: number, loss: Loss) => void;
  readonly onStatus: (status: AttachStatus) => void;
  /** Somebody, perhaps this client, lost control without giving it. */
  readonly onExpired: (name: string, mine: boolean, reason: string) => void;
  /** People here point somewhere else. */
  readonly onPointers?: (pointers: readonly Pointer[]) => void;
  /** See `Stream`. */
  readonly tap?: ((bytes: Uint8Array, offset: number) => void) | undefined;
  readonly timers: Timers;
  /** 0 ≤ n < 1. */
  readonly random: () => number;
}

const RETRY_FIRST_MS = 250;
/** At first often: a driver whose connection is gone is waited for, for 10 s. */
const RETRY_SOON_CAP_MS = 1_500;
const RETRY_SOON_TIMES = 10;
/** Below that wait, too, or a server that was away for a minute would find nobody in time. */
const RETRY_CAP_MS = 5_000;
/** A connection attempt that says nothing for this long is given up. */
const START_TIMEOUT_MS = 10_000;

const CLOSE_NORMAL = 1000;
const CLOSE_SUPERSEDED = 4000;
const CLOSE_REVOKED = 4401;
const CLOSE_NO_SUCH_TERMINAL = 4404;
const CLOSE_SANDBOX_NOT_RUNNING = 4409;
const CLOSE_SANDBOX_ENDED = 4410;
const GONE_CODES = [CLOSE_NO_SUCH_TERMINAL, CLOSE_SANDBOX_NOT_RUNNING, CLOSE_SANDBOX_ENDED];

/** See the file's head. Create, `open()`, and in the end `dispose()`. */
export class Attachment {
  readonly #options: AttachOptions;
  readonly #encoder = new TextEncoder();
  readonly #stream: Stream;
  readonly #retry: Alarm;
  readonly #start: Alarm;
  readonly #pulse: Pulse;
  readonly #outbox: Outbox;
  #status = UNTOLD;
  #socket: AttachSocket | null = null;
  #client = '';
  #attempts = 0;
  /** Output before this offset is a replay. */
  #live = 0;

  constructor(options: AttachOptions) {
    this.#options = options;
    const { screen, timers, tap } = options;
    const onAck = (offset: number): void => this.#say({ type: 'ack', offset });
    this.#stream = new Stream({ screen, timers, tap, onAck });
    this.#outbox = new Outbox({
      send: (frame) => this.#socket?.send(frame),
      onStuck: (bytes) => options.onDropped(bytes, 'stuck'),
      timers,
    });
    this.#retry = new Alarm(timers);
    this.#start = new Alarm(timers);
    this.#pulse = new Pulse(timers, {
      onQuiet: (quiet) => this.#set({ quiet }),
      onSilence: () => this.#onClose(0, ''),
    });
  }

  get status(): AttachStatus {
    return this.#status;
  }

  /** Connects for the first time. */
  open(): void {
    this.#connect();
  }

  /** Whether what is typed arrives, as far as this page knows. */
  get carries(): boolean {
    return this.#status.phase === 'live' && !this.#status.quiet;
  }

  /** Whether it is connected for the first time: its terminal was not shown yet. */
  get #opens(): boolean {
    return this.#status.phase === 'connecting' && !this.#status.resumes;
  }

  /**
   * Sends keystrokes, or a paste; while the terminal opens, as soon as it is there. False (and
   * nothing is sent, now or later) where it neither `carries` nor opens.
   */
  send(data: string | Uint8Array): boolean {
    if (this.#socket === null || !(this.carries || this.#opens)) return false;
    const bytes = typeof data === 'string' ? this.#encoder.encode(data) : data;
    if (this.#opens) return this.#outbox.keep(bytes);
    this.#outbox.push(bytes);
    return true;
  }

  /** Asks for control: granted at once when nobody else, or another tab of ours, drives. */
  requestControl(): void {
    if (this.#status.phase === 'live' && !this.#status.drives)
      this.#say({ type: 'request_control' });
  }

  /** Gives control to a client of that id, or else to who waited longest. */
  grantControl(to?: string): void {
    if (this.#status.phase === 'live')
      this.#say(to === undefined ? { type: 'grant_control' } : { type: 'grant_control', to });
  }

  /** Releases control as the driver, takes it back as an owner, else withdraws a request. */
  revokeControl(): void {
    if (this.#status.phase === 'live') this.#say({ type: 'revoke_control' });
  }

  /** Says a line to everybody at the terminal; the program does not see it. */
  say(text: string): void {
    if (this.#status.phase === 'live') this.#say({ type: 'say', text });
  }

  /** Shows others where this person points; null: no longer. */
  point(place: Place | null): void {
    if (this.#status.phase !== 'live') return;
    this.#say(place === null ? { type: 'point', off: true } : { type: 'point', ...place });
  }

  /** Asks for another size; only a driver's wish is sent. */
  resize(cols: number, rows: number): void {
    const { phase, drives, fixed, cols: nowCols, rows: nowRows } = this.#status;
    if (phase !== 'live' || !drives || fixed || (cols === nowCols && rows === nowRows)) return;
    this.#say({ type: 'resize', cols, rows });
  }

  /**
   * Whether the screen may answer a terminal's questions: the driver's only. In a replay
   * there are none; the runtime takes them out.
   */
  mayAnswer(): boolean {
    return this.#status.drives && this.#status.phase === 'live';
  }

  /**
   * Whether what the screen parses now was written by a program while this person drove it,
   * and is no replay: only then may it ask for the clipboard.
   */
  mayCopy(): boolean {
    return this.mayAnswer() && this.#stream.shown >= this.#live;
  }

  /**
   * The page woke up. A waiting connection is tried at once; with `suspect`, a live one
   * is made anew as well, since a dead TCP connection can look alive for minutes.
   */
  wake(suspect: boolean): void {
    const { phase, quiet } = this.#status;
    if (phase === 'waiting' || quiet || (suspect && (phase === 'live' || phase === 'connecting'))) {
      this.#attempts = 0;
      this.#connect();
    }
  }

  /** A person's wish to have a parked terminal here again. */
  takeBack(): void {
    if (this.#status.phase === 'parked') this.#connect();
  }

  /** The way in has ended, as heard elsewhere: no connection is made again. */
  revoke(): void {
    this.#hangUp();
    // What an agent does and whether it is recorded is no longer known.
    this.#set({ phase: 'revoked', drives: false, retryAt: null, agent: null, recording: null });
  }

  /** Ends the attachment for good; the terminal itself lives on. */
  dispose(): void {
    this.#hangUp();
    this.#set({ phase: 'closed', retryAt: null });
  }

  #connect(): void {
    this.#hangUp();
    this.#set({ phase: 'connecting', retryAt: null });
    const query = new URLSearchParams({ client: this.#options.clientId, heartbeat: 'true' });
    // A page that is only open wakes nothing.
    query.set('wake', 'false');
    const { received } = this.#stream;
    if (received !== null) query.set('since', String(received));
    const size = this.#options.size();
    if (size !== null) {
      query.set('cols', String(size.cols));
      query.set('rows', String(size.rows));
    }
    const socket = this.#options.connect(query);
    socket.binaryType = 'arraybuffer';
    socket.onmessage = ({ data }) => this.#onMessage(data);
    socket.onclose = ({ code, reason }) => this.#onClose(code, reason);
    this.#socket = socket;
    this.#start.set(() => this.#onClose(0, ''), START_TIMEOUT_MS);
  }

  #onMessage(data: unknown): void {
    this.#pulse.felt();
    if (data instanceof ArrayBuffer) {
      if (!this.#stream.push(new Uint8Array(data))) this.#drain();
    } else if (typeof data === 'string') {
      const frame = parseFrame(data);
      if (frame !== null) this.#onFrame(frame);
    }
  }

  #onFrame(frame: ServerFrame): void {
    switch (frame.type) {
      case 'start':
        this.#onStart(frame);
        break;
      case 'resync':
        this.#stream.restartAt(frame.to, frame.preamble);
        this.#set({ resyncs: this.#status.resyncs + 1 });
        break;
      case 'size':
        this.#resizeScreen(frame);
        break;
      case 'driver':
        this.#set({ driver: frame.client, drives: frame.client === this.#client });
        break;
      case 'title':
        this.#set({ title: frame.title });
        break;
      case 'exit':
        this.#set({ exit: frame.exit });
        break;
      case 'error':
        this.#options.onRefused(frame.code, frame.message);
        break;
      case 'refused':
        this.#onInputRefused(frame.reason, frame.message);
        break;
      case 'taken':
        this.#outbox.taken(frame.bytes);
        break;
      case 'heartbeat':
        this.#pulse.beatsEvery(frame.everyMs);
        break;
      default:
        this.#onPeople(frame);
    }
  }

  /** What is left of a paste goes the way of the part that was refused. */
  #onInputRefused(reason: string, message: string): void {
    const dropped = this.#outbox.drop();
    this.#options.onRefused(reason, message);
    if (dropped > 0) this.#options.onDropped(dropped, 'refused');
  }

  #onPeople(frame: PeopleFrame): void {
    switch (frame.type) {
      case 'control':
        this.#set({ control: frame.control, me: this.#find(frame.control) });
        break;
      case 'expired':
        this.#onExpired(frame);
        break;
      case 'agent':
        this.#set({ agent: frame.agent });
        break;
      case 'recording':
        this.#set({ recording: frame.recording });
        break;
      case 'talk':
        this.#set({ talk: frame.talk });
        break;
      case 'pointers':
        this.#options.onPointers?.(frame.pointers);
        break;
    }
  }

  #find({ driver, watchers, waiting }: Control): Party | null {
    const here = [driver, ...watchers, ...waiting];
    return here.find((party) => party?.client === this.#client) ?? null;
  }

  #onExpired(frame: Extract<PeopleFrame, { type: 'expired' }>): void {
    const before = this.#status.control?.driver;
    const name = before?.client === frame.client ? before.name : t`The driver`;
    this.#options.onExpired(name, frame.client === this.#client, frame.reason);
  }

  #onStart(frame: Extract<ServerFrame, { type: 'start' }>): void {
    this.#start.clear();
    this.#attempts = 0;
    this.#client = frame.client ?? this.#options.clientId;
    this.#live = frame.live;
    this.#resizeScreen(frame);
    if (frame.offset !== this.#stream.received || frame.preamble.length > 0) {
      this.#stream.restartAt(frame.offset, frame.preamble);
    }
    this.#set({
      phase: 'live',
      resumes: true,
      driver: frame.driver,
      drives: frame.driver === this.#client,
      title: frame.title,
      // Told again after `start` where there is one.
      recording: null,
    });
    this.#stream.begin(frame.ackEvery);
    this.#outbox.begin(frame.inputWindow);
    this.#pulse.begin();
  }

  #resizeScreen({ cols, rows, fixed }: Extract<ServerFrame, { type: 'size' | 'start' }>): void {
    // Bytes that came before were laid out for the old size.
    this.#stream.afterward(() => {
      if (this.#status.phase === 'closed') return;
      this.#options.screen.resize(cols, rows);
      this.#set({ cols, rows, fixed });
    });
  }

  /** The screen cannot keep up: stop receiving until it has, then resume. */
  #drain(): void {
    this.#hangUp();
    this.#stream.drain(() => this.#connect());
    this.#set({ phase: 'waiting', retryAt: null });
  }

  #say(frame: ClientFrame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  #onClose(code: number, reason: string): void {
    this.#hangUp();
    if (this.#status.exit !== null) this.#set({ phase: 'ended' });
    else if (code === CLOSE_SUPERSEDED) this.#set({ phase: 'parked', drives: false });
    else if (code === CLOSE_REVOKED) this.revoke();
    else if (GONE_CODES.includes(code)) this.#set({ phase: 'gone', reason, drives: false });
    else this.#retryLater(code);
  }

  #retryLater(code: number): void {
    const { timers, random } = this.#options;
    const mostMs = this.#attempts < RETRY_SOON_TIMES ? RETRY_SOON_CAP_MS : RETRY_CAP_MS;
    // A clean end without an exit frame is a server going down in good order: it will
    // need a moment.
    const moment = code === CLOSE_NORMAL ? RETRY_FIRST_MS : 0;
    const pace = { firstMs: RETRY_FIRST_MS, mostMs };
    const delay = moment + retryDelay(this.#attempts, pace, random());
    this.#attempts += 1;
    this.#retry.set(() => this.#connect(), delay);
    this.#set({ phase: 'waiting', drives: false, retryAt: timers.now() + delay });
  }

  #hangUp(): void {
    this.#stream.pause();
    this.#start.clear();
    this.#retry.clear();
    this.#pulse.end();
    this.#set({ quiet: false });
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    const kept = this.#outbox.dropKept();
    if (kept > 0) this.#options.onDropped(kept, 'unopened');
    const dropped = this.#outbox.end();
    if (dropped > 0) this.#options.onDropped(dropped, 'cut');
    socket.onmessage = socket.onclose = null;
    socket.close(CLOSE_NORMAL);
  }

  #set(change: Partial<AttachStatus>): void {
    if (this.#status.phase === 'closed') return;
    const next = { ...this.#status, ...change };
    const keys = Object.keys(change) as (keyof AttachStatus)[];
    if (keys.every((key) => this.#status[key] === next[key])) return;
    this.#status = next;
    this.#options.onStatus(next);
  }
}
