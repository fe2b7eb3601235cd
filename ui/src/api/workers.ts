/** Workers over the API (`docs/program/workers.md`). */

import { fieldsOf, whole, word, type Fields } from './fields';
import { call } from './call';
import type { Schemas } from './types';

export type Worker = Schemas['WorkerView'];
export type WorkerStatus = Schemas['WorkerStatus'];
export type HeartbeatState = Schemas['HeartbeatState'];
export type Receipt = Schemas['WorkerReceiptView'];

/** The path of a worker; what belongs to it lies below. */
export const workerAt = (id: string): string => `v1/workers/${encodeURIComponent(id)}`;

/** More workers than a person looks through. */
const MOST_PAGES = 10;

export type WorkerMade = Schemas['WorkerCreatedView'];
export type Desktop = Schemas['DesktopView'];

export const workersApi = {
  async list(): Promise<readonly Worker[]> {
    const all: Worker[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const found = (await call('GET', `v1/workers?limit=100${query}`)) as Schemas['WorkerPage'];
      all.push(...found.workers);
      cursor = found.next;
      if (cursor === null) break;
    }
    return all;
  },
  /** Creates a worker, or reattaches the one of this name. */
  create: (body: Schemas['WorkerBody']) => call('POST', 'v1/workers', body) as Promise<WorkerMade>,
  get: (id: string) => call('GET', `${workerAt(id)}/snapshot`) as Promise<Worker>,
  /** Sends a request to the agent, once, whatever is repeated under its id. */
  request: (id: string, request: Schemas['WorkerRequestFields'], waitMs: number) =>
    call('POST', `${workerAt(id)}/requests`, { request, wait_ms: waitMs }) as Promise<Receipt>,
  stop: (id: string) => call('POST', `${workerAt(id)}/stop`) as Promise<Schemas['WorkerStopView']>,
  /** Takes the conversation to a terminal; repeated, it names the same one. */
  take: (id: string, thread: string | null) =>
    call(
      'POST',
      `${workerAt(id)}/take`,
      thread === null ? undefined : { thread_id: thread },
    ) as Promise<Schemas['WorkerTakenView']>,
  /** Ends what is at the terminal; the machine goes on with the conversation. */
  giveBack: (id: string) => call('POST', `${workerAt(id)}/give-back`) as Promise<Worker>,
  /** Starts a worker that has ended, in its sandbox with its files and its conversation. */
  async again(id: string): Promise<Worker> {
    return (await workersApi.create({ worker_id: id })).worker;
  },
  /** Deletes what its agent said, but for the newest event. */
  erase: (id: string) =>
    call('DELETE', `${workerAt(id)}/stream`) as Promise<Schemas['WorkerErasedView']>,

  /** The person's own machines that are linked. */
  async desktops(): Promise<readonly Desktop[]> {
    return ((await call('GET', 'v1/desktops')) as Schemas['DesktopList']).desktops;
  },
  unlink: (name: string) => call('DELETE', `v1/desktops/${encodeURIComponent(name)}`),
};

/** What the broker counted of a worker. */
export interface Usage {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

/** A question of the agent that nobody has answered. */
export interface OpenQuestion {
  readonly id: string;
  readonly method: string;
  /** The agent's own JSON. */
  readonly params: string;
}

/** The person's own machine that a worker is on, empty before that is known; null for others. Its
 *  terminals are reached there alone. */
export function desktopOf({ extension, sandbox }: Worker): string | null {
  return extension === 'ext.desktop' ? (sandbox?.host ?? '') : null;
}

/** Its usage; null where the snapshot has none, or nothing was used yet. */
export function usageOf(worker: Worker): Usage | null {
  const counted = fieldsOf(member(worker, 'usage')) ?? {};
  const usage = {
    requests: whole(counted['requests']),
    input: whole(counted['input_tokens']),
    output: whole(counted['output_tokens']),
    cached: whole(counted['cached_tokens']),
  };
  return usage.requests + usage.input + usage.output === 0 ? null : usage;
}

/** Its open questions; null where the snapshot has none to tell of. */
export function questionsOf({ pending }: Worker): readonly OpenQuestion[] | null {
  const listed = (pending as Fields)['server_requests'];
  if (!Array.isArray(listed)) return null;
  return listed
    .map((one) => fieldsOf(one) ?? {})
    .map((one) => ({
      id: word(one['server_request_id']),
      method: word(one['method']),
      params: word(one['params']),
    }))
    .filter(({ id }) => id !== '');
}

/** Its conversations, as far as the snapshot has them. */
export function threadsOf(worker: Worker): readonly { id: string; title: string; turn: string }[] {
  const listed = member(worker, 'threads');
  return (Array.isArray(listed) ? listed : [])
    .map((one) => fieldsOf(one) ?? {})
    .map((one) => ({
      id: word(one['thread_id']),
      title: word(one['title']),
      turn: word(one['turn_id']),
    }))
    .filter(({ id }) => id !== '');
}

/** A file that an execution made, as a trusted service reported it. */
export interface Artifact {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
}

/** Its artifacts, oldest first. */
export function artifactsOf(worker: Worker): readonly Artifact[] {
  const listed = member(worker, 'artifacts');
  return (Array.isArray(listed) ? listed : [])
    .map((one) => fieldsOf(one) ?? {})
    .map(({ name, type, size, sha256 }) => ({
      ...{ name: word(name), type: word(type), sha256: word(sha256) },
      size: whole(size),
    }))
    .filter(({ name }) => name !== '');
}

/** What a teardown removed and what it left, with why; null until it was. */
export function removalOf(
  worker: Pick<Worker, 'torn_down'>,
): { readonly removed: readonly string[]; readonly left: readonly string[] } | null {
  const told = fieldsOf(member(worker, 'torn_down'));
  if (told === null) return null;
  const words = (value: unknown): readonly string[] =>
    (Array.isArray(value) ? value : []).map(word).filter((one) => one !== '');
  return { removed: words(told['removed']), left: words(told['leftovers']) };
}

/** A field that servers before this one do not have. */
function member(worker: object, name: string): unknown {
  return (worker as Fields)[name];
}
