/**
 * The text frames of a terminal's WebSocket, as `docs/program/runtime-contract.md` says them.
 *
 * Pure: JSON in, a typed frame or null out. A frame this page does not know is null, so
 * that a newer server can say more without breaking an older page.
 */

import { fieldsOf, parseJson, whole, word, type Fields } from '../../api/fields';
import { agentOf, controlOf, recordingOf, talkOf } from './party';
import { pointersOf, type Pointer } from './pointers';
import type { AgentState, Control, Recording, Talk } from './party';

export type Exit =
  | { readonly kind: 'code'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: string };

export type ServerFrame =
  | {
      readonly type: 'start';
      readonly offset: number;
      readonly preamble: Uint8Array;
      readonly cols: number;
      readonly rows: number;
      /** The name this connection goes by: nearly always the one asked for. */
      readonly client: string | null;
      readonly driver: string | null;
      readonly title: string;
      readonly ackEvery: number;
      /** Bytes typed that may be on their way; 0: as many as one likes. */
      readonly inputWindow: number;
      /** Output before it was written before this client came. */
      readonly live: number;
      readonly fixed: boolean;
    }
  | {
      readonly type: 'resync';
      readonly from: number;
      readonly to: number;
      readonly preamble: Uint8Array;
    }
  /** `fixed`: no driver's window changes it. */
  | {
      readonly type: 'size';
      readonly cols: number;
      readonly rows: number;
      readonly fixed: boolean;
    }
  | { readonly type: 'driver'; readonly client: string | null }
  | { readonly type: 'title'; readonly title: string }
  | { readonly type: 'exit'; readonly exit: Exit; readonly offset: number }
  | { readonly type: 'error'; readonly code: string; readonly message: string }
  /** Keystrokes were dropped. */
  | { readonly type: 'refused'; readonly reason: string; readonly message: string }
  /** Of what this connection sent, so many bytes went to the program or were refused. */
  | { readonly type: 'taken'; readonly bytes: number }
  /** The connection is alive, and the next sign of it comes after so long. */
  | { readonly type: 'heartbeat'; readonly everyMs: number }
  | PeopleFrame;

/** Frames about who is here and what goes on. */
export type PeopleFrame =
  | { readonly type: 'control'; readonly control: Control }
  /** A driver lost control: `idle`, or `grace` when its connection stayed away. */
  | { readonly type: 'expired'; readonly client: string; readonly reason: string }
  | { readonly type: 'agent'; readonly agent: AgentState }
  | { readonly type: 'recording'; readonly recording: Recording }
  | { readonly type: 'talk'; readonly talk: Talk }
  | { readonly type: 'pointers'; readonly pointers: readonly Pointer[] };

export type ClientFrame =
  | { readonly type: 'ack'; readonly offset: number }
  | { readonly type: 'resize'; readonly cols: number; readonly rows: number }
  | { readonly type: 'request_control' }
  /** Without `to`: to who waited longest. */
  | { readonly type: 'grant_control'; readonly to?: string }
  | { readonly type: 'revoke_control' }
  /** A line for everybody at the terminal. */
  | { readonly type: 'say'; readonly text: string }
  /** Where this person points; `off`: no longer, for anybody. */
  | { readonly type: 'point'; readonly at?: Cells; readonly selected?: Cells; readonly off?: true };

type Cells = readonly number[] | null;

const DEFAULT_ACK_EVERY = 65_536;
/** The interval of a runtime that does not say it. */
const DEFAULT_HEARTBEAT_MS = 5_000;

/** Reads one text frame; null when it is not one of ours. */
export function parseFrame(text: string): ServerFrame | null {
  const fields = fieldsOf(parseJson(text));
  if (fields === null) return null;
  switch (fields['type']) {
    case 'start':
      return start(fields);
    case 'resync':
      return {
        type: 'resync',
        from: whole(fields['from']),
        to: whole(fields['to']),
        preamble: decodeBase64(fields['preamble']),
      };
    case 'size':
      return {
        type: 'size',
        cols: whole(fields['cols']),
        rows: whole(fields['rows']),
        fixed: fields['fixed'] === true,
      };
    case 'driver':
      return { type: 'driver', client: wordOrNull(fields['client']) };
    case 'title':
      return { type: 'title', title: word(fields['title']) };
    case 'exit':
      return { type: 'exit', exit: exitOf(fields), offset: whole(fields['offset']) };
    case 'error':
      return { type: 'error', code: word(fields['code']), message: word(fields['message']) };
    case 'input_refused':
      return { type: 'refused', reason: word(fields['reason']), message: word(fields['message']) };
    case 'input_taken':
      return { type: 'taken', bytes: whole(fields['bytes']) };
    default:
      return heartbeat(fields) ?? aboutPeople(fields);
  }
}

function heartbeat(fields: Fields): ServerFrame | null {
  if (fields['type'] !== 'heartbeat') return null;
  return { type: 'heartbeat', everyMs: whole(fields['every_ms']) || DEFAULT_HEARTBEAT_MS };
}

function aboutPeople(fields: Fields): PeopleFrame | null {
  switch (fields['type']) {
    case 'control_state':
      return { type: 'control', control: controlOf(fields) };
    case 'control_expired':
      return { type: 'expired', client: word(fields['client']), reason: word(fields['reason']) };
    case 'agent_state':
      return { type: 'agent', agent: agentOf(fields) };
    case 'recording':
      return { type: 'recording', recording: recordingOf(fields) };
    case 'talk':
      return { type: 'talk', talk: talkOf(fields) };
    case 'pointers':
      return { type: 'pointers', pointers: pointersOf(fields['pointers']) };
    default:
      return null;
  }
}

/** An exit as the runtime writes it: `signal`, or else `code`. */
export function exitOf(fields: Fields): Exit {
  const signal = fields['signal'];
  if (typeof signal === 'string') return { kind: 'signal', signal };
  if (typeof signal === 'number') return { kind: 'signal', signal: String(signal) };
  return { kind: 'code', code: whole(fields['code']) };
}

function start(fields: Fields): ServerFrame {
  return {
    type: 'start',
    offset: whole(fields['offset']),
    preamble: decodeBase64(fields['preamble']),
    cols: whole(fields['cols']),
    rows: whole(fields['rows']),
    client: wordOrNull(fields['client']),
    driver: wordOrNull(fields['driver']),
    title: word(fields['title']),
    ackEvery: whole(fields['ack_every']) || DEFAULT_ACK_EVERY,
    inputWindow: whole(fields['input_window']),
    live: whole(fields['live']),
    fixed: fields['fixed'] === true,
  };
}

function decodeBase64(value: unknown): Uint8Array {
  if (typeof value !== 'string' || value === '') return new Uint8Array(0);
  return Uint8Array.from(atob(value), (char) => char.charCodeAt(0));
}

function wordOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
