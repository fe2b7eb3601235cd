/** Requests to an agent: one receipt each, whatever gets lost. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Problem } from '../../api/call';
import { workersApi, type Receipt } from '../../api/workers';
import { askWorker, Refusal, requested } from './requests';

const head = { worker_id: 'w', request_id: 'r' };
const result = (value: unknown): Receipt => ({
  ...head,
  response: { result: JSON.stringify(value) },
});
const lost = new Problem('lost', 0, 'unreachable');

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('window', { setTimeout });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** Answers of the server in their order; returns the requests that it was sent. */
function scripted(...answers: readonly (Receipt | Error)[]) {
  const left = [...answers];
  const sent: { readonly id: string; readonly method: string; readonly params: unknown }[] = [];
  vi.spyOn(workersApi, 'request').mockImplementation((_, { request_id, method, params }) => {
    sent.push({ id: request_id, method, params });
    const next = left.shift() ?? new Error('no answer left');
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  });
  return sent;
}

test('a request that got lost, or has no receipt yet, is sent again under its id', async () => {
  const sent = scripted(lost, head, result({ data: [1] }));
  const answer = requested('w', 'thread/loaded/list');
  await vi.runAllTimersAsync();
  expect(await answer).toEqual({ data: [1] });
  expect(sent).toHaveLength(3);
  expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
  expect(sent[0]?.id).toMatch(/^page-[0-9a-f]{32}$/);
});

test('a refusal is final, and so is a problem that no repeat mends', async () => {
  const error = { code: 'timeout', message: 'no answer', retryable: true, data: null } as const;
  scripted({ ...head, error });
  await expect(requested('w', 'turn/start')).rejects.toThrow(new Refusal('no answer', 'timeout'));
  const sent = scripted(new Problem('held', 409, 'held_by_person'));
  await expect(requested('w', 'turn/start')).rejects.toThrow('held');
  expect(sent).toHaveLength(1);
});

test('an agent that never answers is given up', async () => {
  const sent = scripted(...Array<Receipt>(9).fill(head));
  const answer = expect(requested('w', 'turn/start')).rejects.toThrow('does not answer');
  await vi.runAllTimersAsync();
  await answer;
  expect(sent).toHaveLength(6);
});

test('a prompt goes to the thread that is chosen, to the newest one, or to a new one', async () => {
  const methods = (sent: readonly { readonly method: string }[]) =>
    sent.map(({ method }) => method);
  let sent = scripted(result({ data: ['t1'] }), result({}));
  await askWorker('w', 'Go', 't1');
  expect(methods(sent)).toEqual(['thread/loaded/list', 'turn/start']);
  expect(sent[1]?.params).toEqual({ threadId: 't1', input: [{ type: 'text', text: 'Go' }] });

  sent = scripted(result({ data: [] }), result({ data: [{ id: 't2' }] }), result({}), result({}));
  await askWorker('w', 'Go', null);
  expect(methods(sent)).toEqual([
    'thread/loaded/list',
    'thread/list',
    'thread/resume',
    'turn/start',
  ]);

  const made = result({ thread: { id: 't3' } });
  sent = scripted(result({ data: [] }), result({ data: [] }), made, result({}));
  await askWorker('w', 'Go', null);
  expect(methods(sent)).toEqual([
    'thread/loaded/list',
    'thread/list',
    'thread/start',
    'turn/start',
  ]);
  expect(sent[3]?.params).toMatchObject({ threadId: 't3' });
});
