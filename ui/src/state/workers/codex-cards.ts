/**
 * What Codex's app-server says as cards, as `domain/agents/codex/cards.py` makes them, and the
 * answers to its questions. Pure.
 */

import type { Card, CardOption } from '../../api/types';
import { t, worded } from '../../language/t';
import { entryOf, fieldsOf, word, type Fields } from '../../api/fields';
import type { Draft } from './card-log';
import {
  commandText,
  first,
  itemCard,
  itemId,
  partsOf,
  plain,
  planText,
  short,
} from './codex-items';

const DECISIONS = worded<Readonly<Record<string, CardOption>>>(() => ({
  accept: { id: 'accept', label: t`Allow`, effect: 'allow' },
  acceptForSession: { id: 'acceptForSession', label: t`Allow for this session`, effect: 'allow' },
  decline: { id: 'decline', label: t`Decline`, effect: 'deny' },
  cancel: { id: 'cancel', label: t`Decline and stop`, effect: 'deny' },
}));
const DENIALS = ['decline', 'cancel'];

const TURN_STATES: Readonly<Record<string, Card['state']>> = {
  completed: 'done',
  failed: 'failed',
  interrupted: 'declined',
};

const DELTAS: Readonly<Record<string, string>> = {
  'item/agentMessage/delta': 'text',
  'item/plan/delta': 'plan',
  'item/reasoning/summaryTextDelta': 'thinking',
  'item/reasoning/textDelta': 'thinking',
  'item/commandExecution/outputDelta': 'bash',
};

const ASKS_WORDS = 'item/tool/requestUserInput';

/** The cards of a notification. */
export function cardsOf(method: string, params: Fields): readonly Draft[] {
  const kind = entryOf(DELTAS, method);
  if (kind !== undefined) {
    const id = itemId(word(params['itemId']));
    return [{ id, kind, text: word(params['delta']), append: true }];
  }
  switch (method) {
    case 'item/started':
    case 'item/completed': {
      const card = itemCard(fieldsOf(params['item']) ?? {}, method === 'item/completed');
      return card === null ? [] : [card];
    }
    case 'turn/started':
      return [turnCard(params, 'running')];
    case 'turn/completed':
      return turnEnd(params);
    case 'turn/plan/updated': {
      const id = `plan:${word(params['turnId'])}`;
      return [{ id, kind: 'plan', state: 'running', title: t`Plan`, text: planText(params) }];
    }
    case 'warning':
    case 'configWarning':
      return [told(method, params, t`Codex warns`, 'done')];
    case 'error':
      return [told(method, params, t`Codex reports an error`, 'failed')];
    default:
      return [];
  }
}

/** The card of a question, without an id; null for one that nobody can answer here. */
export function questionCard(method: string, params: Fields): Omit<Draft, 'id'> | null {
  if (method === ASKS_WORDS) return wordsCard(params);
  const approves = plain(method).endsWith('requestapproval') || method.includes('elicitation');
  if (!approves) return null;
  const offered = params['availableDecisions'];
  const named = (Array.isArray(offered) ? offered : []).filter((one) => typeof one === 'string');
  const names = named.length > 0 ? named : ['accept'];
  if (!names.some((one) => DENIALS.includes(one))) names.push('decline');
  const what = method.split('/').slice(1).join('/');
  return {
    kind: 'approval',
    state: 'pending',
    title: first(params, 'reason', 'message') || t`Allow ${what || method}?`,
    text: commandText(params),
    options: names.flatMap((name) => entryOf(DECISIONS(), name) ?? []),
    data: { asks: method },
  };
}

function wordsCard(params: Fields): Omit<Draft, 'id'> {
  const asked = partsOf(params['questions']);
  const options = partsOf(asked[0]?.['options']).map((one) => word(one['label']));
  return {
    kind: 'question',
    state: 'pending',
    title: word(asked[0]?.['header']) || t`The agent asks`,
    text: asked.map((one) => word(one['question'])).join('\n'),
    options: options
      .filter((label) => label !== '')
      .map((label) => ({ id: label, label, effect: 'other' })),
    data: { asks: ASKS_WORDS, questions: asked.map((one) => word(one['id'])) },
  };
}

/** An answer in the agent's own words: the result of its question, and whether it allows. */
export interface Answered {
  readonly result: Fields;
  readonly accepted: boolean;
}

/** What a person's answer to a card means to the agent; null for an answer that it did not offer. */
export function answerOf(card: Card, option?: string, text?: string): Answered | null {
  const asks = word(card.data['asks']);
  const chosen = card.options.find(({ id }) => id === option)?.id;
  if (asks === ASKS_WORDS) {
    const said = text ?? chosen;
    const ids = Array.isArray(card.data['questions']) ? card.data['questions'] : [];
    if (said === undefined) return null;
    const answers = Object.fromEntries(ids.map((id) => [word(id), { answers: [said] }]));
    return { result: { answers }, accepted: true };
  }
  if (chosen === undefined) return null;
  const accepted = !DENIALS.includes(chosen);
  if (asks.includes('elicitation')) {
    const [action, content] = accepted ? ['accept', {}] : ['decline', null];
    const result = { action, content };
    return { result, accepted };
  }
  return { result: { decision: chosen }, accepted };
}

/** Whether a result that somebody sent denies what was asked. */
export function denies(result: unknown): boolean {
  const { decision, action } = fieldsOf(result) ?? {};
  return DENIALS.includes(word(decision) || word(action));
}

function turnCard(params: Fields, state: Card['state']): Draft {
  const turn = fieldsOf(params['turn']) ?? {};
  const took = turn['durationMs'];
  const data = Number.isInteger(took) ? { milliseconds: took } : {};
  return { id: `turn:${word(turn['id'])}`, kind: 'turn', state, data };
}

/** A turn that ended, after why it failed. */
function turnEnd(params: Fields): readonly Draft[] {
  const turn = fieldsOf(params['turn']) ?? {};
  const error = word(fieldsOf(turn['error'])?.['message']);
  const end = turnCard(params, entryOf(TURN_STATES, word(turn['status'])) ?? 'done');
  if (error === '') return [end];
  const id = `end:${word(turn['id'])}`;
  return [{ id, kind: 'status', state: 'failed', title: t`The turn failed`, text: error }, end];
}

/** Repeated words are the same card. */
function told(method: string, params: Fields, title: string, state: Card['state']): Draft {
  const said = first(params, 'message', 'summary');
  const text = said || word(fieldsOf(params['error'])?.['message']);
  return { id: `${method}:${short(text, 60)}`, kind: 'status', state, title, text };
}
