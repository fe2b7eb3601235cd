/** Frames of a worker's stream (`docs/program/workers.md`), read leniently. Pure. */

import { fieldsOf, parseJson, word, type Fields } from '../../api/fields';

/** An event of a worker, or a piece of a text that is never stored: its `seq` is null. */
export interface WorkerEvent {
  readonly seq: number | null;
  readonly type: string;
  readonly at: string;
  /** The one member of the payload. */
  readonly said: Fields;
}

/** Reads the data of a frame; null when it is none of ours. */
export function readEvent(data: string): WorkerEvent | null {
  const fields = fieldsOf(parseJson(data));
  if (fields === null) return null;
  const { seq, event_type: type, at, payload } = fields;
  if (typeof type !== 'string') {
    return typeof fields['method'] === 'string'
      ? { seq: null, type: 'worker.event', at: word(at), said: fields }
      : null;
  }
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq)) return null;
  const said = Object.values(fieldsOf(payload) ?? {})
    .map(fieldsOf)
    .find((one) => one !== null);
  return { seq, type, at: word(at), said: said ?? {} };
}

/** Params of the agent: its own JSON, as text. */
export function paramsOf(said: Fields): Fields {
  return fieldsOf(parseJson(word(said['params']))) ?? {};
}

/** The number to resume after, of a refusal that says that a cursor is stale; null without one. */
export function resumeAfter(text: string): number | null {
  const problem = fieldsOf(parseJson(text));
  if (problem?.['code'] !== 'stale_cursor') return null;
  const named = problem['resume_after'];
  if (typeof named === 'number' && Number.isSafeInteger(named)) return named;
  const number = /\d+/.exec(word(problem['detail']));
  return number === null ? null : Number(number[0]);
}
