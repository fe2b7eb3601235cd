/**
 * One browser's attachment to one terminal: offsets, acknowledgements, resume.
 *
 * It knows the wire contract and nothing of xterm, React or the DOM: bytes go to a
 * `Screen`, the socket and the clock come in. The promise it keeps: every byte of the
 * terminal reaches the screen exactly once and in order, over any number of
 * reconnects, or the screen is told to start afresh (`resync`).
 */

import { parseFrame } from './frames';
import type { ClientFrame, Exit, PeopleFrame, ServerFrame } from './frames';
import type { AgentState, Control, Party, Recording } from './party';

/** Where bytes go. Calls are in order, and so must the `done` callbacks be. */
export interface Screen {
  /** Appends bytes; `done` is called once they are parsed. */
  write(bytes: Uint8Array, done: () => void): void;
  /** The terminal's size changed; called between the writes it belongs between. */
  resize(cols: number, rows: number): void;
}

/** The part of WebSocket that is used, so that tests can script one. */
export interface AttachSocket {
  binaryType: string;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number }) => void) | null;
  send(data: string | Uint8Array): void;
  close(code?: number): void;
}

/** Time, in milliseconds. */
export interface AttachTimers {
  set(run: () => void, afterMs: number): number;
  clear(timer: number): void;
  now(): number;
}

/** What a person can be told about the connection. */
export type Phase =
  /** The first connection, or one being made again. */
  | 'connecting'
  /** Bytes flow. */
  | 'live'
  /** Disconnected; another try is due at `retryAt`. */
  | 'waiting'
  /** The same client attached elsewhere: stays so until `takeBack`, never fights. */
  | 'parked'
  /** The program ended; see `exit`. */
  | 'ended'
  /** There is no such terminal any more. */
  | 'gone'
  /** The login or the share link is over. */
  | 'revoked'
  /** `dispose` was called. */
  | 'closed';

export interface AttachStatus {
  readonly phase: Phase;
  readonly driver: string | null;
  readonly drives: boolean;
  /** Who is here and who waits; null until told. */
  readonly control: Control | null;
  /** This client among them. */
  readonly me: Party | null;
  readonly agent: AgentState | null;
  readonly recording: Recording | null;
  readonly cols: number;
  readonly rows: number;
  readonly title: string;
  readonly exit: Exit | null;
  /** When the next try is due (the timers' clock), while waiting. */
  readonly retryAt: number | null;
  /** Bytes were shown already: a connection in the making resumes them. */
  readonly resumes: boolean;
  /** Times the stream could not be continued and was started afresh. */
  readonly resyncs: number;
}

export interface AttachOptions {
  readonly clientId: string;
  readonly screen: Screen;
  readonly connect: (query: URLSearchParams) => AttachSocket;
  /** The size this client would like, in cells; null when it does not know yet. */
  readonly size: () => { cols: number; rows: number } | null;
  /** The server refused something that was sent: `code` and a sentence. */
  readonly onRefused: (code: string, message: string) => void;
  readonly onStatus: (status: AttachStatus) => void;
  /** Somebody, perhaps this client, lost control without giving it. */
  readonly onExpired: (name: string, mine: boolean, reason: string) => void;
  /** Sees every counted byte in order; for tests. */
  readonly tap?: ((bytes: Uint8Array, offset: number) => void) | undefined;
  readonly timers: AttachTimers;
  /** 0 ≤ n < 1. */
  readonly random: () => number;
}

/** Bytes handed to the screen at once, so acknowledgements stay fine-grained. */
const PIECE_BYTES = 32 * 1024;
/** An idle screen acknowledges after this. */
const IDLE_ACK_MS = 60;
/** xterm throws data away past 50 MB unparsed; leave long before that. */
const BACKLOG_BYTES = 8 * 1024 * 1024;
const RETRY_FIRST_MS = 250;
/** At first often: a driver whose connection is gone is waited for, for 10 s. */
const RETRY_SOON_CAP_MS = 1_500;
const RETRY_SOON_TIMES = 10;
const RETRY_CAP_MS = 8_000;
/** A connection attempt that says nothing for this long is given up. */
const START_TIMEOUT_MS = 10_000;

const CLOSE_NORMAL = 1000;
const CLOSE_SUPERSEDED = 4000;
const CLOSE_REVOKED = 4401;
const CLOSE_NO_SUCH_TERMINAL = 4404;
const CLOSE_SANDBOX_NOT_RUNNING = 4409;
const NOTHING = new Uint8Array(0);

/** See the file's head. Create, `open()`, and in the end `dispose()`. */
export class Attachment {
  readonly #options: AttachOptions;
  readonly #encoder = new TextEncoder();
  #status: AttachStatus = {
    phase: 'connecting',
    driver: null,
    drives: false,
    control: null,
    me: null,
    agent: null,
    recording: null,
    cols: 0,
    rows: 0,
    title: '',
    exit: null,
    retryAt: null,
    resumes: false,
    resyncs: 0,
  };
  #socket: AttachSocket | null = null;
  /** Offset of the next byte to come; null before the first `start`. */
  #received: number | null = null;
  /** Offset up to which the screen has parsed. */
  #shown = 0;
  #acked = -1;
  #ackEvery = 65_536;
  #client = '';
  #attempts = 0;
  #retryTimer: number | null = null;
  #ackTimer: number | null = null;
  #startTimer: number | null = null;
  #draining = false;

  constructor(options: AttachOptions) {
    this.#options = options;
  }

  get status(): AttachStatus {
    return this.#status;
  }

  /** Connects for the first time. */
  open(): void {
    this.#connect();
  }

  /** Sends keystrokes; false (and nothing is sent, now or later) unless live. */
  send(data: string | Uint8Array): boolean {
    if (this.#status.phase !== 'live' || this.#socket === null) return false;
    this.#socket.send(typeof data === 'string' ? this.#encoder.encode(data) : data);
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

  /** Asks for another size; only a driver's wish is sent. */
  resize(cols: number, rows: number): void {
    const { phase, drives, cols: nowCols, rows: nowRows } = this.#status;
    if (phase !== 'live' || !drives || (cols === nowCols && rows === nowRows)) return;
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
   * The page woke up. A waiting connection is tried at once; with `suspect`, a live one
   * is made anew as well, since a dead TCP connection can look alive for minutes.
   */
  wake(suspect: boolean): void {
    const { phase } = this.#status;
    if (phase === 'waiting' || (suspect && (phase === 'live' || phase === 'connecting'))) {
      this.#attempts = 0;
      this.#connect();
    }
  }

  /** A person's wish to have a parked terminal here again. */
  takeBack(): void {
    if (this.#status.phase === 'parked') this.#connect();
  }

  /** Ends the attachment for good; the terminal itself lives on. */
  dispose(): void {
    this.#dropSocket();
    this.#clearTimers();
    this.#set({ phase: 'closed', retryAt: null });
  }

  #connect(): void {
    this.#dropSocket();
    this.#clearTimers();
    this.#draining = false;
    this.#set({ phase: 'connecting', retryAt: null });
    const query = new URLSearchParams({ client: this.#options.clientId });
    if (this.#received !== null) query.set('since', String(this.#received));
    const size = this.#options.size();
    if (size !== null) {
      query.set('cols', String(size.cols));
      query.set('rows', String(size.rows));
    }
    const socket = this.#options.connect(query);
    socket.binaryType = 'arraybuffer';
    socket.onmessage = ({ data }) => this.#onMessage(data);
    socket.onclose = ({ code }) => this.#onClose(code);
    this.#socket = socket;
    this.#acked = -1;
    this.#startTimer = this.#options.timers.set(() => this.#onClose(0), START_TIMEOUT_MS);
  }

  #onMessage(data: unknown): void {
    if (data instanceof ArrayBuffer) {
      this.#onBytes(new Uint8Array(data));
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
        this.#restartAt(frame.to, frame.preamble);
        this.#set({ resyncs: this.#status.resyncs + 1 });
        break;
      case 'size':
        this.#resizeScreen(frame.cols, frame.rows);
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
        this.#options.onRefused(frame.reason, frame.message);
        break;
      default:
        this.#onPeople(frame);
    }
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
    }
  }

  #find({ driver, watchers, waiting }: Control): Party | null {
    const here = [driver, ...watchers, ...waiting];
    return here.find((party) => party?.client === this.#client) ?? null;
  }

  #onExpired(frame: Extract<PeopleFrame, { type: 'expired' }>): void {
    const before = this.#status.control?.driver;
    const name = before?.client === frame.client ? before.name : 'The driver';
    this.#options.onExpired(name, frame.client === this.#client, frame.reason);
  }

  #onStart(frame: Extract<ServerFrame, { type: 'start' }>): void {
    this.#clear('start');
    this.#attempts = 0;
    this.#ackEvery = frame.ackEvery;
    this.#client = frame.client ?? this.#options.clientId;
    this.#resizeScreen(frame.cols, frame.rows);
    if (frame.offset !== this.#received || frame.preamble.length > 0) {
      this.#restartAt(frame.offset, frame.preamble);
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
    this.#ack();
  }

  /** The stream goes on at another offset; the preamble makes the screen fit for it. */
  #restartAt(offset: number, preamble: Uint8Array): void {
    this.#received = offset;
    this.#options.screen.write(preamble, () => this.#onShown(offset));
  }

  #resizeScreen(cols: number, rows: number): void {
    const { screen } = this.#options;
    // Through the write queue: bytes that came before were laid out for the old size.
    screen.write(NOTHING, () => {
      if (this.#status.phase === 'closed') return;
      screen.resize(cols, rows);
      this.#set({ cols, rows });
    });
  }

  #onBytes(bytes: Uint8Array): void {
    let offset = this.#received ?? 0;
    this.#options.tap?.(bytes, offset);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      const end = offset + piece.length;
      this.#options.screen.write(piece, () => this.#onShown(end));
      offset = end;
    }
    this.#received = offset;
    if (offset - this.#shown > BACKLOG_BYTES) this.#drain();
  }

  #onShown(offset: number): void {
    this.#shown = offset;
    if (this.#status.phase === 'closed') return;
    const idle = offset === this.#received;
    if (this.#draining && idle) {
      this.#connect();
      return;
    }
    // Half of what the server allows: the next ack is under way before it waits for it.
    if (offset - this.#acked >= this.#ackEvery / 2) this.#ack();
    else if (idle) this.#ackSoon();
  }

  /** The screen cannot keep up: stop receiving until it has, then resume. */
  #drain(): void {
    this.#dropSocket();
    this.#clearTimers();
    this.#draining = true;
    this.#set({ phase: 'waiting', retryAt: null });
  }

  #ackSoon(): void {
    this.#ackTimer ??= this.#options.timers.set(() => {
      this.#ackTimer = null;
      this.#ack();
    }, IDLE_ACK_MS);
  }

  #ack(): void {
    if (this.#status.phase !== 'live' || this.#shown === this.#acked) return;
    this.#clear('ack');
    this.#acked = this.#shown;
    this.#say({ type: 'ack', offset: this.#shown });
  }

  #say(frame: ClientFrame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  #onClose(code: number): void {
    this.#dropSocket();
    this.#clearTimers();
    if (this.#status.exit !== null) this.#set({ phase: 'ended' });
    else if (code === CLOSE_SUPERSEDED) this.#set({ phase: 'parked', drives: false });
    else if (code === CLOSE_REVOKED) this.#set({ phase: 'revoked', drives: false });
    else if (code === CLOSE_NO_SUCH_TERMINAL || code === CLOSE_SANDBOX_NOT_RUNNING) {
      this.#set({ phase: 'gone' });
    } else this.#retryLater(code);
  }

  #retryLater(code: number): void {
    const { timers, random } = this.#options;
    const most = this.#attempts < RETRY_SOON_TIMES ? RETRY_SOON_CAP_MS : RETRY_CAP_MS;
    const cap = Math.min(most, RETRY_FIRST_MS * 2 ** this.#attempts);
    // A clean end without an exit frame is a server going down in good order: it will
    // need a moment. Jitter keeps a hundred panes from coming back in one instant.
    const delay = (code === CLOSE_NORMAL ? RETRY_FIRST_MS : 0) + cap * (0.5 + random() / 2);
    this.#attempts += 1;
    this.#retryTimer = timers.set(() => this.#connect(), delay);
    this.#set({ phase: 'waiting', drives: false, retryAt: timers.now() + delay });
  }

  #dropSocket(): void {
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    socket.onmessage = socket.onclose = null;
    socket.close(CLOSE_NORMAL);
  }

  #clearTimers(): void {
    this.#clear('start');
    this.#clear('ack');
    this.#clear('retry');
  }

  #clear(which: 'start' | 'ack' | 'retry'): void {
    const { timers } = this.#options;
    if (which === 'start' && this.#startTimer !== null) {
      timers.clear(this.#startTimer);
      this.#startTimer = null;
    } else if (which === 'ack' && this.#ackTimer !== null) {
      timers.clear(this.#ackTimer);
      this.#ackTimer = null;
    } else if (which === 'retry' && this.#retryTimer !== null) {
      timers.clear(this.#retryTimer);
      this.#retryTimer = null;
    }
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
