/**
 * A worker's stream as a conversation: its cards, its threads, and what it asks. Pure.
 *
 * Texts come from an agent and are hostile: they only ever become texts of cards.
 */

import type { Card } from '../../api/types';
import type { OpenQuestion } from '../../api/workers';
import { t } from '../../language/t';
import { fieldsOf, parseJson, word, type Fields } from '../../api/fields';
import { CardLog, type Draft } from './card-log';
import { cardsOf, denies, questionCard } from './codex-cards';
import { paramsOf, type WorkerEvent } from './events';

/** A conversation of the worker; `turn` is the one that runs, else empty. */
export interface Thread {
  readonly id: string;
  readonly title: string;
  readonly turn: string;
}

export interface TalkView {
  readonly cards: readonly Card[];
  readonly dropped: number;
  /** The last one is the one that was used last. */
  readonly threads: readonly Thread[];
}

export const NO_TALK: TalkView = { cards: [], dropped: 0, threads: [] };

/** Stands for pieces of a text that are lost. */
const LOST = ' … ';
/** As many as an honest agent never has. */
const MAX_THREADS = 64;
const MAX_OPEN = 256;
/** Requests whose refusal is worth a line in the conversation. */
const TOLD = /^(turn\/(start|steer)|review\/start|thread\/(start|resume|fork|compact\/start))$/;

interface Sent {
  readonly method: string;
  /** The question that it answers, and whether that denies it. */
  readonly question: string;
  readonly denied: boolean;
}

interface Open {
  readonly card: string;
  /** The number of its event; null where a snapshot told of it. */
  readonly seq: number | null;
}

export class WorkerTalk {
  readonly #log = new CardLog();
  /** Open questions, by the id that an answer names. */
  readonly #open = new Map<string, Open>();
  /** Questions that had their answer. */
  readonly #closed = new Map<string, true>();
  /** Cards whose text came in pieces, and is not whole yet. */
  readonly #pieces = new Map<string, true>();
  #seq = 0;
  readonly #threads = new Map<string, Thread>();
  readonly #sent = new Map<string, Sent>();

  view(): TalkView {
    return {
      cards: this.#log.all(),
      dropped: this.#log.dropped,
      threads: [...this.#threads.values()],
    };
  }

  take({ seq, type, at, said }: WorkerEvent): void {
    this.#seq = seq ?? this.#seq;
    switch (type) {
      case 'worker.event':
        this.#heard(said, at, seq);
        break;
      case 'worker.request.received':
        this.#received(said);
        break;
      case 'worker.response':
        this.#answered(word(said['request_id']));
        break;
      case 'worker.error':
        this.#refused(said, at, seq);
        break;
      default: {
        this.#settle(type, said);
        const words = sentenceOf(type, said);
        if (words !== null) this.#status(`event:${seq ?? ''}`, words, at, isBad(type, said));
      }
    }
  }

  /** The line was cut: pieces of texts that came meanwhile are lost, and the whole comes later. */
  cutOff(): void {
    for (const id of this.#pieces.keys()) {
      const card = this.#log.get(id);
      if (card?.state === 'running' && !card.text.endsWith(LOST)) {
        this.#log.put({ id, kind: card.kind, text: LOST, append: true }, card.at);
      }
    }
  }

  /** A question has its answer, or nobody waits for one any more. */
  close(question: string, state: Card['state']): void {
    const open = this.#open.get(question);
    this.#open.delete(question);
    bounded(this.#closed, question, true, MAX_OPEN);
    const card = open === undefined ? undefined : this.#log.get(open.card);
    if (card?.state === 'pending') this.#log.put({ id: card.id, kind: card.kind, state }, card.at);
  }

  /** Takes what a snapshot says of open questions: of those that the stream told of too long ago,
   *  and of those that have ended. `latest` is the snapshot's place in the stream. */
  reconcile(questions: readonly OpenQuestion[], latest: number): void {
    const named = new Set(questions.map(({ id }) => id));
    for (const [question, { seq }] of [...this.#open]) {
      if (!named.has(question) && (seq ?? 0) <= latest) this.close(question, 'done');
    }
    // The stream brings those that it has not come to.
    if (this.#seq < latest) return;
    for (const { id, method, params } of questions) {
      if (this.#open.has(id) || this.#closed.has(id)) continue;
      this.#question(id, method, fieldsOf(parseJson(params)) ?? {}, '', null);
    }
  }

  #heard(said: Fields, at: string, seq: number | null): void {
    const method = word(said['method']);
    const params = paramsOf(said);
    const thread = word(params['threadId']) || word(said['thread_id']);
    const question = said['server_request_id'];
    this.#follow(method, params, thread);
    if (typeof question === 'string' && question !== '') {
      this.#question(question, method, params, at, seq);
      return;
    }
    for (const draft of cardsOf(method, params)) {
      this.#log.put(thread === '' ? draft : { ...draft, data: { ...draft.data, thread } }, at);
      if (draft.append === true) bounded(this.#pieces, draft.id, true, MAX_OPEN);
      else if (draft.text !== undefined) this.#pieces.delete(draft.id);
    }
  }

  #question(
    question: string,
    method: string,
    params: Fields,
    at: string,
    seq: number | null,
  ): void {
    const made = questionCard(method, params);
    if (made === null) return;
    // An agent that started anew counts from its beginning: the earlier question is gone.
    if (this.#open.has(question)) this.close(question, 'declined');
    const first = `approval:${question}`;
    const card = this.#log.get(first) === undefined ? first : `${first}:${seq ?? 'open'}`;
    const data = { ...made.data, thread: word(params['threadId']), question, answerable: true };
    this.#log.put({ ...made, id: card, data }, at);
    bounded(this.#open, question, { card, seq }, MAX_OPEN);
  }

  /** Threads and turns, and the questions that end with them. */
  #follow(method: string, params: Fields, id: string): void {
    switch (method) {
      case 'thread/started': {
        const thread = fieldsOf(params['thread']) ?? {};
        this.#thread(word(thread['id']), { title: word(thread['name']) });
        break;
      }
      case 'thread/name/updated':
        this.#thread(id, { title: word(params['threadName']) || word(params['name']) });
        break;
      case 'turn/started':
        this.#thread(id, { turn: word(fieldsOf(params['turn'])?.['id']) });
        break;
      case 'turn/completed': {
        this.#thread(id, { turn: '' });
        const ended = word(fieldsOf(params['turn'])?.['status']) === 'completed';
        this.#closeAll(ended ? 'done' : 'declined', id);
        break;
      }
      case 'serverRequest/resolved': {
        this.close(word(params['server_request_id']) || nameOf(params['requestId']), 'done');
        break;
      }
      default:
    }
  }

  #thread(id: string, change: Partial<Thread>): void {
    if (id === '') return;
    const before = this.#threads.get(id) ?? { id, title: '', turn: '' };
    this.#threads.delete(id);
    bounded(this.#threads, id, { ...before, ...change }, MAX_THREADS);
  }

  #received(said: Fields): void {
    const method = word(said['method']);
    const params = method === 'serverRequest/respond' ? paramsOf(said) : {};
    const question = word(params['server_request_id']);
    const sent = { method, question, denied: denies(params['result']) };
    bounded(this.#sent, word(said['request_id']), sent, MAX_OPEN);
  }

  #answered(request: string): void {
    const sent = this.#sent.get(request);
    this.#sent.delete(request);
    if (sent !== undefined && sent.question !== '') {
      this.close(sent.question, sent.denied ? 'declined' : 'done');
    }
  }

  #refused(said: Fields, at: string, seq: number | null): void {
    const request = word(said['request_id']);
    const method = this.#sent.get(request)?.method ?? '';
    this.#sent.delete(request);
    if (!TOLD.test(method)) return;
    const words = t`${method} was not done: ${word(said['message']) || word(said['code'])}`;
    this.#status(`event:${seq ?? ''}`, words, at, true);
  }

  #status(id: string, text: string, at: string, bad: boolean): void {
    this.#log.put({ id, kind: 'status', state: bad ? 'failed' : 'done', text }, at);
  }

  #closeAll(state: Card['state'], thread?: string): void {
    for (const [question, { card }] of [...this.#open]) {
      const of = this.#log.get(card)?.data['thread'];
      if (thread === undefined || of === thread || of === '') this.close(question, state);
    }
  }

  /** Where the agent ended or began anew no turn runs, and mostly nobody waits for an answer. */
  #settle(type: string, { holder }: Fields): void {
    const left =
      type === 'worker.stopped' || (type === 'worker.handed_over' && holder === 'person');
    if (!left && type !== 'worker.started') return;
    // One that was lost may come back with its questions.
    if (left) this.#closeAll('declined');
    for (const thread of this.#threads.values())
      this.#threads.set(thread.id, { ...thread, turn: '' });
    for (const { id, kind, state, at } of this.#log.all()) {
      const ended: Draft = { id, kind, state: 'declined' };
      if (state === 'running') this.#log.put(ended, at);
    }
  }
}

function bounded<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}

/** A name of the agent's own: a text or a number. */
function nameOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : word(value);
}

function isBad(type: string, said: Fields): boolean {
  return type === 'worker.lost' || said['status'] === 'failed';
}

/** What happened to the worker itself, in a sentence; null for what is not worth a line. */
function sentenceOf(type: string, said: Fields): string | null {
  const reason = word(said['reason']);
  switch (type) {
    case 'worker.started':
      return said['reattached'] === true ? t`The worker runs again.` : t`The worker runs.`;
    case 'worker.lost':
      return reason === '' ? t`The worker is lost.` : t`The worker is lost: ${reason}`;
    case 'worker.recovered':
      return t`The worker is back.`;
    case 'worker.handed_over':
      return said['holder'] === 'person'
        ? t`A person took the conversation to a terminal.`
        : t`The conversation was given back.`;
    case 'worker.stopped':
      return stoppedWords(said['status'] === 'failed', reason);
    case 'worker.torn_down':
      return tornDownWords(said);
    default:
      return null;
  }
}

function stoppedWords(failed: boolean, reason: string): string {
  if (failed) return reason === '' ? t`The worker failed.` : t`The worker failed: ${reason}`;
  return reason === '' ? t`The worker stopped.` : t`The worker stopped: ${reason}`;
}

function tornDownWords(said: Fields): string {
  const left = (Array.isArray(said['leftovers']) ? said['leftovers'] : []).map(word);
  if (left.length > 0) return t`What could not be removed: ${left.join(', ')}`;
  const removed = Array.isArray(said['removed']) && said['removed'].length > 0;
  return removed ? t`Its sandbox was removed.` : t`It was taken down; no sandbox was removed.`;
}

/** The question of a pending card, by the id that an answer names; empty where it has none. */
export function questionOf(card: Card): string {
  return word(card.data['question']);
}
