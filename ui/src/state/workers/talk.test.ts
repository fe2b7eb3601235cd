/** A worker's stream as a conversation: the cards that the runtime makes of the same words. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Card } from '../../api/types';
import { answerOf } from './codex-cards';
import { readEvent, resumeAfter, type WorkerEvent } from './events';
import { questionOf, WorkerTalk } from './talk';

const FIXTURES = new URL('../../../../tests/fixtures/agents/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, FIXTURES), 'utf8');

interface Line {
  readonly dir: string;
  readonly msg: { readonly id?: unknown; readonly method?: string; readonly params?: unknown };
}

/** A frame of the stream as the server writes it. */
function frame(seq: number, type: string, said: Readonly<Record<string, unknown>>): WorkerEvent {
  const member = type.replace('worker.', '').replaceAll('.', '_');
  const event = { worker_id: 'w', seq, event_type: type, event_version: 1, at: 'now' };
  const found = readEvent(JSON.stringify({ ...event, payload: { [member]: said } }));
  if (found === null) throw new Error('no event');
  return found;
}

/** What an agent says, as events from a number on. */
function told(seq: number, method: string, params: unknown, question?: string): WorkerEvent {
  const asked = question === undefined ? {} : { server_request_id: question };
  return frame(seq, 'worker.event', { method, params: JSON.stringify(params), ...asked });
}

function talkOf(...events: readonly WorkerEvent[]): WorkerTalk {
  const talk = new WorkerTalk();
  for (const event of events) talk.take(event);
  return talk;
}

const REQUEST = { threadId: 't1', reason: 'May I?', command: "bash -lc 'make it'" };
const APPROVAL = 'item/commandExecution/requestApproval';
const asks = (seq: number, question = '0') => told(seq, APPROVAL, REQUEST, question);
const cardOf = (talk: WorkerTalk, at = 0): Card => {
  const card = talk.view().cards[at];
  if (card === undefined) throw new Error('no card');
  return card;
};

describe('cards of Codex', () => {
  it('are those that the runtime makes of a recorded conversation', () => {
    const lines = read('codex-app-server.jsonl')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
      .filter(({ dir, msg }) => dir === 'out' && msg.method !== undefined);
    const talk = talkOf(
      ...lines.map(({ msg: { id, method = '', params } }, at) =>
        told(at + 1, method, params, id === undefined ? undefined : JSON.stringify(id)),
      ),
    );
    const { cards: expected } = JSON.parse(read('codex-app-server.cards.json')) as {
      cards: readonly Card[];
    };
    const seen = talk.view().cards.map(({ id, kind, state, title, text, options, cut }) => ({
      ...{ id: id.replace(/^item:/, ''), kind, state, title, text, options, cut },
    }));
    expect(seen).toEqual(
      expected.map(({ id, kind, state, title, text, options, cut }) => ({
        ...{ id, kind, state, title, text, options, cut },
      })),
    );
    for (const [at, { data }] of expected.entries()) {
      expect(cardOf(talk, at).data).toMatchObject(
        'asks' in data ? { asks: data['asks'], answerable: true } : data,
      );
    }
    expect(talk.view().threads.map(({ turn }) => turn)).toEqual(['']);
  });

  it('show files, tools, plans and what is unknown', () => {
    const item = (id: string, more: object) => told(1, 'item/completed', { item: { id, ...more } });
    const talk = talkOf(
      item('1', { type: 'fileChange', changes: [{ path: 'a.py', diff: '+one' }] }),
      item('2', { type: 'fileChange', changes: { 'b.py': { type: 'add', content: 'x\ny\n' } } }),
      item('3', { type: 'mcpToolCall', server: 's', tool: 'find', error: { message: 'no' } }),
      item('4', { type: 'plan', items: [{ text: 'one', completed: true }, { step: 'two' }] }),
      item('5', { type: 'webSearch', query: 'q' }),
      item('6', { type: 'somethingNew', text: 'words' }),
      item('7', { type: 'reasoning', summary: ['so'] }),
      item('8', { type: 'neverShown' }),
    );
    expect(talk.view().cards.map(({ kind, title, text }) => [kind, title, text])).toEqual([
      ['diff', 'a.py', '+one'],
      ['diff', 'b.py', '+x\n+y'],
      ['tool-call', 's.find', 'no'],
      ['plan', 'Plan', '[x] one\n[ ] two'],
      ['tool-call', 'Web search: q', ''],
      ['text', 'somethingnew', 'words'],
      ['thinking', '', 'so'],
    ]);
    expect(cardOf(talk, 2).state).toBe('failed');
  });

  it('take a command out of its shell as a shell would read it', () => {
    const line = (command: string) =>
      cardOf(talkOf(told(1, 'item/started', { item: { type: 'commandExecution', command } })))
        .title;
    expect(line(`/bin/bash -lc 'echo "a b"'`)).toBe('echo "a b"');
    expect(line(`bash -c "echo \\"a\\" 'b'"`)).toBe(`echo "a" 'b'`);
    expect(line(`bash -lc echo' 'it`)).toBe('echo it');
    expect(line(`bash -lc 'open`)).toBe(`bash -lc 'open`);
    expect(line(`bash -lc ${"'a'".repeat(9_000)}`)).toHaveLength(120);
  });

  it('grow by pieces that are never stored, until the whole replaces them', () => {
    const piece = { worker_id: 'w', method: 'item/agentMessage/delta' };
    const params = (delta: string) => JSON.stringify({ itemId: 'm', delta });
    const live = ['He', 'llo'].map((one) =>
      readEvent(JSON.stringify({ ...piece, params: params(one) })),
    );
    const talk = talkOf(...live.filter((one) => one !== null));
    expect(cardOf(talk)).toMatchObject({ text: 'Hello', state: 'running' });
    talk.take(told(1, 'item/started', { item: { type: 'agentMessage', id: 'm', text: '' } }));
    expect(cardOf(talk).text).toBe('Hello');
    talk.cutOff();
    talk.cutOff();
    expect(cardOf(talk).text).toBe('Hello … ');
    const item = { type: 'agentMessage', id: 'm', text: 'Hello you' };
    talk.take(told(1, 'item/completed', { item }));
    talk.cutOff();
    expect(cardOf(talk)).toMatchObject({ text: 'Hello you', state: 'done' });
    expect(talk.view().cards).toHaveLength(1);
  });
});

describe('questions', () => {
  it('are answered in the words of their method, and close by their receipt', () => {
    const talk = talkOf(asks(1));
    const card = cardOf(talk);
    expect(card).toMatchObject({ kind: 'approval', state: 'pending', text: 'make it' });
    expect(questionOf(card)).toBe('0');
    expect(answerOf(card, 'accept')).toEqual({ result: { decision: 'accept' }, accepted: true });
    expect(answerOf(card, 'decline')).toEqual({ result: { decision: 'decline' }, accepted: false });
    expect(answerOf(card, 'acceptForSession')).toBeNull();
    expect(answerOf(card, undefined, 'words')).toBeNull();
    const params = JSON.stringify({ server_request_id: '0', result: { decision: 'decline' } });
    const method = 'serverRequest/respond';
    talk.take(frame(2, 'worker.request.received', { request_id: 'r', method, params }));
    expect(cardOf(talk).state).toBe('pending');
    talk.take(frame(3, 'worker.response', { request_id: 'r', result: '{}' }));
    expect(cardOf(talk).state).toBe('declined');
    talk.take(told(4, 'serverRequest/resolved', { threadId: 't1', requestId: 0 }));
    expect(cardOf(talk).state).toBe('declined');
  });

  it('of words take one of them or other words, for everything that was asked', () => {
    const questions = [
      { id: 'a', header: 'Branch', question: 'Which?', options: [{ label: 'main' }, { no: 1 }] },
      { id: 'b', question: 'Why?' },
    ];
    const card = cardOf(talkOf(told(1, 'item/tool/requestUserInput', { questions }, 'q1')));
    expect(card).toMatchObject({ kind: 'question', title: 'Branch', text: 'Which?\nWhy?' });
    expect(answerOf(card, 'main')?.result).toEqual({
      answers: { a: { answers: ['main'] }, b: { answers: ['main'] } },
    });
    expect(answerOf(card, undefined, 'dev')?.result).toMatchObject({
      answers: { a: { answers: ['dev'] } },
    });
    expect(answerOf(card, 'dev')).toBeNull();
  });

  it('of a server of tools are accepted or declined', () => {
    const card = cardOf(talkOf(told(1, 'mcpServer/elicitation/request', { message: 'Ok?' }, '4')));
    expect(answerOf(card, 'accept')?.result).toEqual({ action: 'accept', content: {} });
    expect(answerOf(card, 'decline')?.result).toEqual({ action: 'decline', content: null });
  });

  it('end with their turn, with a stop, and when the agent asks anew under the same id', () => {
    const turn = { id: 'u', status: 'interrupted' };
    const ended = talkOf(asks(1), told(2, 'turn/completed', { threadId: 't1', turn }));
    expect(cardOf(ended).state).toBe('declined');
    const other = talkOf(asks(1), told(2, 'turn/completed', { threadId: 't2', turn }));
    expect(cardOf(other).state).toBe('pending');
    const stopped = talkOf(asks(1), frame(2, 'worker.stopped', { status: 'stopped' }));
    expect(stopped.view().cards.map(({ state, text }) => [state, text])).toEqual([
      ['declined', 'make it'],
      ['done', 'The worker stopped.'],
    ]);
    const taken = talkOf(asks(1), frame(2, 'worker.handed_over', { holder: 'person' }));
    expect(taken.view().cards.map(({ text }) => text)).toEqual([
      'make it',
      'A person took the conversation to a terminal.',
    ]);
    expect(cardOf(taken).state).toBe('declined');
    const again = talkOf(asks(1), asks(2));
    expect(again.view().cards.map(({ id, state }) => [id, state])).toEqual([
      ['approval:0', 'declined'],
      ['approval:0:2', 'pending'],
    ]);
    const lost = talkOf(asks(1), frame(2, 'worker.lost', { reason: 'no answer' }));
    expect(cardOf(lost).state).toBe('pending');
  });

  it('are known from a snapshot where the stream did not tell of them, once', () => {
    const open = [{ id: '7', method: APPROVAL, params: JSON.stringify(REQUEST) }];
    const talk = talkOf(frame(4, 'worker.heartbeat', {}));
    talk.reconcile(open, 5);
    expect(talk.view().cards).toEqual([]);
    talk.take(frame(5, 'worker.heartbeat', {}));
    talk.reconcile(open, 5);
    talk.reconcile(open, 5);
    expect(talk.view().cards).toHaveLength(1);
    talk.reconcile([], 5);
    expect(cardOf(talk).state).toBe('done');
    talk.reconcile(open, 5);
    expect(talk.view().cards).toHaveLength(1);
  });

  it('close by a newer snapshot without them, and not by an older one', () => {
    const talk = talkOf(asks(4, '7'));
    talk.reconcile([], 3);
    expect(cardOf(talk).state).toBe('pending');
    talk.reconcile([], 4);
    expect(cardOf(talk).state).toBe('done');
    const other = talkOf(told(1, 'serverRequest/resolved', { requestId: 'x' }));
    other.reconcile([{ id: 'x', method: APPROVAL, params: '{}' }], 1);
    expect(other.view().cards).toEqual([]);
  });
});

describe('the worker itself', () => {
  it('says what happened to it, and which turn runs', () => {
    const talk = talkOf(
      frame(1, 'worker.started', { epoch: 1, reattached: false }),
      told(2, 'thread/started', { thread: { id: 't1', name: 'First' } }),
      told(3, 'turn/started', { threadId: 't1', turn: { id: 'u1' } }),
    );
    expect(talk.view().threads).toEqual([{ id: 't1', title: 'First', turn: 'u1' }]);
    talk.take(frame(4, 'worker.lost', { reason: 'its host is silent' }));
    talk.take(frame(5, 'worker.started', { epoch: 2, reattached: true }));
    talk.take(frame(6, 'worker.torn_down', { removed: ['sandbox:a'], leftovers: [] }));
    talk.take(frame(7, 'worker.heartbeat', { heartbeat_state: 'stale' }));
    const said = talk.view().cards.filter(({ kind }) => kind === 'status');
    expect(said.map(({ text }) => text)).toEqual([
      'The worker runs.',
      'The worker is lost: its host is silent',
      'The worker runs again.',
      'Its sandbox was removed.',
    ]);
    expect(talk.view().threads).toEqual([{ id: 't1', title: 'First', turn: '' }]);
    expect(talk.view().cards.find(({ kind }) => kind === 'turn')?.state).toBe('declined');
  });

  it('tells of a prompt that did not begin a turn, and not of a look at its threads', () => {
    const refused = (request: string, method: string, seq: number) => [
      frame(seq, 'worker.request.received', { request_id: request, method }),
      frame(seq + 1, 'worker.error', { request_id: request, code: 'timeout', message: 'late' }),
    ];
    const talk = talkOf(...refused('a', 'turn/start', 1), ...refused('b', 'thread/list', 3));
    expect(talk.view().cards.map(({ text, state }) => [text, state])).toEqual([
      ['turn/start was not done: late', 'failed'],
    ]);
  });
});

describe('hostile words', () => {
  it('never break the conversation, and no item takes the place of a question', () => {
    const talk = talkOf(
      asks(1),
      told(2, 'item/completed', { item: { type: 'agentMessage', id: 'approval:0', text: 'no' } }),
      told(3, 'item/completed', { item: [] }),
      told(4, 'item/completed', { item: { type: { a: 1 }, id: 7, text: 5, changes: 9 } }),
      told(5, 'item/completed', { item: { type: 'fileChange', changes: [null, 3, { path: 4 }] } }),
      told(6, 'turn/completed', null),
      told(7, 'item/tool/requestUserInput', { questions: { a: 1 } }, 'x'),
      frame(8, 'worker.event', { method: 'error', params: '{not json' }),
      frame(9, 'worker.event', { method: 'constructor', params: '{}' }),
      frame(10, 'worker.event', { method: '__proto__', params: '{"item":{"type":"__proto__"}}' }),
      told(11, 'item/completed', { item: { type: '__proto__', status: 'constructor', id: 'p' } }),
      told(11, 'item/started', { item: { type: 'constructor', status: 'constructor', id: 'c' } }),
      told(11, 'item/started', { item: { type: 'agentMessage', status: 'constructor', id: 'd' } }),
      told(11, 'turn/completed', { turn: { id: 'e', status: 'constructor' } }),
      told(11, APPROVAL, { availableDecisions: ['constructor', 'toString', 3] }, 'y'),
      told(12, 'item/completed', { item: { type: 'plan', items: [{ status: 'constructor' }] } }),
      frame(13, 'worker.torn_down', { removed: 4, leftovers: [{}, 'x'] }),
    );
    expect(cardOf(talk)).toMatchObject({ id: 'approval:0', text: 'make it', state: 'pending' });
    for (const { kind, state, title, text, options } of talk.view().cards) {
      expect([kind, state, title, text].map((one) => typeof one)).toEqual(Array(4).fill('string'));
      for (const { id, label } of options) expect([id, label]).not.toContain(undefined);
    }
  });

  it('are kept within bounds', () => {
    const talk = new WorkerTalk();
    const long = 'x'.repeat(100_000);
    for (let at = 1; at <= 2_100; at += 1) {
      const item = { type: 'agentMessage', id: String(at), text: at % 50 === 0 ? long : 'short' };
      talk.take(told(at, 'item/completed', { item }));
      talk.take(told(at, 'thread/started', { thread: { id: String(at) } }));
    }
    const { cards, dropped, threads } = talk.view();
    expect(cards.length + dropped).toBe(2_100);
    expect(cards.length).toBeLessThanOrEqual(2_000);
    expect(threads).toHaveLength(64);
    const cut = cards.find(({ cut: is }) => is);
    expect(cut?.text).toHaveLength(64 * 1024);
  });
});

describe('frames', () => {
  it('that are none of ours are left out', () => {
    for (const data of ['', 'null', '[]', '{}', '{"seq":1}', '{"seq":"1","event_type":"a"}']) {
      expect(readEvent(data)).toBeNull();
    }
  });

  it('say where to resume when older events are gone', () => {
    const problem = (more: object) => JSON.stringify({ code: 'stale_cursor', ...more });
    expect(resumeAfter(problem({ detail: 'Events up to 41 are no longer kept.' }))).toBe(41);
    expect(resumeAfter(problem({ resume_after: 7, detail: 'up to 41' }))).toBe(7);
    expect(resumeAfter(problem({}))).toBeNull();
    expect(resumeAfter('{"code":"unavailable","detail":"9"}')).toBeNull();
    expect(resumeAfter('no json')).toBeNull();
  });
});
