/** Status of an attachment, as the page receives it. */

import type { Exit } from './frames';
import { SILENCE, type AgentState, type Control, type Party } from './party';
import type { Recording, Talk } from './party';

/** States of the connection shown to a person. */
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
  /** Live, but nothing came for seconds: it is offline, or the server is slow. */
  readonly quiet: boolean;
  readonly driver: string | null;
  readonly drives: boolean;
  /** People here and people waiting; null until received. */
  readonly control: Control | null;
  /** This client among them. */
  readonly me: Party | null;
  readonly agent: AgentState | null;
  readonly recording: Recording | null;
  readonly talk: Talk;
  readonly cols: number;
  readonly rows: number;
  /** The size follows no driver's window. */
  readonly fixed: boolean;
  readonly title: string;
  readonly exit: Exit | null;
  /** Why it is gone, in the server's words; empty when it gave none. */
  readonly reason: string;
  /** When the next try is due (the timers' clock), while waiting. */
  readonly retryAt: number | null;
  /** Bytes were shown already: a connection in the making resumes them. */
  readonly resumes: boolean;
  /** Times the stream could not be continued and was started afresh. */
  readonly resyncs: number;
}

/** Whether nothing typed can arrive any more, whatever is waited for. */
export function isOver(phase: Phase): boolean {
  return phase === 'ended' || phase === 'gone' || phase === 'revoked';
}

/** Before anything was heard. */
export const UNTOLD: AttachStatus = {
  phase: 'connecting',
  quiet: false,
  driver: null,
  drives: false,
  control: null,
  me: null,
  agent: null,
  recording: null,
  talk: SILENCE,
  cols: 0,
  rows: 0,
  fixed: false,
  title: '',
  exit: null,
  reason: '',
  retryAt: null,
  resumes: false,
  resyncs: 0,
};
