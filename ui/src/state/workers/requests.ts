/**
 * Requests to the agent of a worker. Each has one receipt, so a request that may have got lost is
 * sent again under its id: nothing happens twice.
 */

import { Problem } from '../../api/call';
import { workersApi, type Worker } from '../../api/workers';
import { t } from '../../language/t';
import { fieldsOf, parseJson, word, type Fields } from '../../api/fields';

/** A receipt that says why there is no result. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

const WAIT_MS = 10_000;
/** A minute for an answer; the agent may still give one after that. */
const ATTEMPTS = 6;
const PAUSE_MS = 1_000;

/** Sends a request and returns the agent's answer. Raises `Refusal` and `Problem`. */
export async function requested(id: string, method: string, params: Fields = {}): Promise<Fields> {
  const request = { request_id: newRequestId(), method, params };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { response, error } = await workersApi.request(id, request, WAIT_MS);
      if (error) throw new Refusal(error.message, error.code);
      if (response) return fieldsOf(parseJson(response.result)) ?? {};
      if (attempt === ATTEMPTS) throw new Refusal(t`the agent does not answer`, 'timeout');
    } catch (reason) {
      if (!isLost(reason) || attempt === ATTEMPTS) throw reason;
      await new Promise((resolve) => window.setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** Whether a call may have got lost on its way, there or back. */
function isLost(reason: unknown): boolean {
  return reason instanceof Problem && [0, 502, 503, 504].includes(reason.status);
}

function newRequestId(): string {
  const parts = [...crypto.getRandomValues(new Uint32Array(4))];
  return `page-${parts.map((one) => one.toString(16).padStart(8, '0')).join('')}`;
}

/** Begins a turn: in this thread, else in the newest one, else in a new one. */
export async function askWorker(id: string, prompt: string, wanted: string | null): Promise<void> {
  const threadId = await threadFor(id, wanted);
  await requested(id, 'turn/start', { threadId, input: [{ type: 'text', text: prompt }] });
}

/** A thread that the agent has loaded, which a turn can begin in. */
async function threadFor(id: string, wanted: string | null): Promise<string> {
  const loaded = dataOf(await requested(id, 'thread/loaded/list')).map(word);
  const thread = wanted ?? (await newest(id)) ?? loaded.at(-1);
  if (thread === undefined) {
    return word(fieldsOf((await requested(id, 'thread/start'))['thread'])?.['id']);
  }
  if (!loaded.includes(thread)) await requested(id, 'thread/resume', { threadId: thread });
  return thread;
}

async function newest(id: string): Promise<string | null> {
  const [first] = dataOf(await requested(id, 'thread/list', { limit: 1 }));
  return word(fieldsOf(first)?.['id']) || null;
}

function dataOf(result: Fields): readonly unknown[] {
  return Array.isArray(result['data']) ? (result['data'] as unknown[]) : [];
}

/** Interrupts a turn. */
export async function interruptTurn(id: string, threadId: string, turnId: string): Promise<void> {
  await requested(id, 'turn/interrupt', { threadId, turnId });
}

/** Answers a question of the agent. */
export async function answerQuestion(id: string, question: string, result: Fields): Promise<void> {
  await requested(id, 'serverRequest/respond', { server_request_id: question, result });
}

/** Whether its agent takes requests now. */
export function takesRequests({ status, heartbeat_state: heart, held_by_person: held }: Worker) {
  return status === 'running' && heart !== 'missing' && !held;
}
