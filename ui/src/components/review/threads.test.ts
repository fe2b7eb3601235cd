import { beforeEach, expect, test, vi } from 'vitest';
import { Problem } from '../../api/call';
import type { Sandbox, SandboxAgent } from '../../api/types';
import { sandboxes, threadsMoved } from '../../state/sandboxes';
import { heightOf, rowsOf, type FileDiff, type Row } from './diff/rows';
import { fateOf, followQueue, sendThreads } from './outbox';
import { collect } from './pulls';
import { queued, queueThreads, restoreQueue } from './queue';
import { isAbout, placeOf, threads, type PlacedThread, type ReviewThread } from './threads';

const { calls, notify, failed } = vi.hoisted(() => ({
  calls: vi.fn(),
  notify: vi.fn(),
  failed: vi.fn(),
}));
vi.mock('../../api/call', async (original) => ({ ...(await original<object>()), call: calls }));
vi.mock('../../state/announce', async (original) => ({
  ...(await original<object>()),
  notify,
  notifyFailure: (words: string) => (reason: Error) => failed(words, reason.message) as unknown,
}));

const FILE: FileDiff = {
  ...{ path: 'a.py', old_path: null, old_mode: null, new_mode: null },
  ...{ binary: false, truncated: false },
  hunks: [
    {
      ...{ old_start: 1, old_lines: 3, new_start: 1, new_lines: 3, heading: '' },
      lines: [' one', '-two', '-three', '+deux', ' four'],
    },
  ],
};
const RESOLVED = { by: 'person', by_name: null, at: '2026-01-02T00:00:00Z' };

function threadOf(more: Partial<ReviewThread> = {}, ...texts: readonly string[]): ReviewThread {
  const said = texts.length === 0 ? ['why?'] : texts;
  return {
    ...{ thread_id: 'thr_1', repo: 0, path: 'a.py', side: 'new', line: 2, lines: ['deux'] },
    ...{ opened_at: RESOLVED.at, resolved: null, sent: null, unsent: true },
    remarks: said.map((text, at) => ({
      ...{ remark_id: `rmk_${at}`, author: 'person', author_name: null, text },
      ...{ at: RESOLVED.at, edited_at: null },
    })),
    ...more,
  };
}

const placed = (
  line: number | null,
  more: Partial<ReviewThread> = {},
  ...texts: string[]
): PlacedThread => ({ thread: threadOf(more, ...texts), side: more.side ?? 'new', line });

const kindsOf = (rows: readonly Row[]) =>
  rows.map((row) => (row.kind === 'thread' && row.lost ? 'lost' : row.kind));

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
    key: (at: number) => [...kept.keys()][at] ?? null,
    get length() {
      return kept.size;
    },
  });
  vi.stubGlobal('window', { addEventListener: vi.fn(), removeEventListener: vi.fn(), setTimeout });
  for (const mock of [calls, notify, failed]) mock.mockReset();
  queued.set({});
  sandboxes.set(null);
});

test('threads and the editor follow their line', () => {
  const marks = { threads: [placed(2)], editing: { side: 'old', line: 2 } as const };
  expect(kindsOf(rowsOf(FILE, false, marks))).toEqual([
    ...['hunk', 'line', 'line', 'editor', 'line', 'line', 'thread', 'line'],
  ]);
  expect(kindsOf(rowsOf(FILE, true, marks)).slice(2, 5)).toEqual(['pair', 'thread', 'editor']);
});

test('a thread without a line that is shown stands first, and says so', () => {
  const away = [placed(null), placed(99), placed(0, { line: 0, lines: [] })];
  const rows = rowsOf(FILE, false, { threads: away, editing: null });
  expect(kindsOf(rows).slice(0, 4)).toEqual(['lost', 'lost', 'lost', 'hunk']);
});

test('the editor of an answer follows its thread wherever that is', () => {
  for (const line of [2, null]) {
    const one = placed(line);
    const editing = { side: 'new', line: 2, thread: one.thread } as const;
    const kinds = kindsOf(rowsOf(FILE, false, { threads: [one], editing }));
    expect(kinds[kinds.indexOf('editor') - 1]).toBe(line === null ? 'lost' : 'thread');
    expect(kinds.filter((kind) => kind === 'editor')).toHaveLength(1);
  }
});

test('what is written outlasts its line and its thread', () => {
  const gone = { side: 'new', line: 77 } as const;
  for (const editing of [gone, { ...gone, thread: threadOf() }]) {
    expect(kindsOf(rowsOf(FILE, false, { threads: [], editing }))[0]).toBe('editor');
  }
});

test('a thread is as high as what was said, within a bound', () => {
  const height = (lost: boolean, one: PlacedThread) =>
    heightOf({ kind: 'thread', placed: one, lost });
  const short = height(false, placed(2));
  expect(height(true, placed(null))).toBeGreaterThan(short);
  expect(height(false, placed(2, {}, 'a', 'b'))).toBeGreaterThan(short);
  expect(height(false, placed(2, {}, 'a\nb\nc\nd'))).toBeGreaterThan(short);
  expect(height(false, placed(2, { resolved: RESOLVED }, 'a', 'b'))).toBeLessThan(short);
  const long = Array<string>(100).fill('word '.repeat(3000));
  expect(height(false, placed(2, {}, ...long))).toBeLessThan(300);
});

test('a thread is about a file by its name, or its former one', () => {
  expect(isAbout(threadOf(), 0, 'a.py', null)).toBe(true);
  expect(isAbout(threadOf(), 0, 'b.py', 'a.py')).toBe(true);
  expect(isAbout(threadOf(), 1, 'a.py', null)).toBe(false);
  expect(isAbout(threadOf({ path: '' }), 0, '', '')).toBe(false);
  expect([threadOf(), threadOf({ line: 0 }), threadOf({ path: '' })].map(placeOf)).toEqual([
    ...['a.py:2', 'a.py', 'The whole'],
  ]);
});

test('an act says whether it succeeded, and that threads are worth another look', async () => {
  const before = threadsMoved.get()['sb'] ?? 0;
  calls.mockResolvedValueOnce({});
  const place = { repo: 0, path: 'a.py', side: 'new', line: 2, lines: ['deux'] } as const;
  expect(await threads.open('sb', place, 'why?')).toBe(true);
  expect(calls).toHaveBeenLastCalledWith('POST', 'v1/sandboxes/sb/threads', {
    ...place,
    text: 'why?',
  });
  calls.mockRejectedValueOnce(new Problem('full', 409, 'limit'));
  expect(await threads.reply('sb', threadOf(), 'since')).toBe(false);
  expect(failed.mock.calls).toEqual([['The answer was not added', 'full']]);
  expect(threadsMoved.get()['sb']).toBe(before + 2);
});

test('a comment of a pull request says who wrote it, and at which line', async () => {
  calls.mockResolvedValue({});
  const at = { sandbox: 'sb', repo: 1, branch: 'fix' };
  const comment = { id: 'x', author: 'ada', at: '', text: 'Why two?', path: null, line: null };
  await collect(at, comment);
  await collect(at, { ...comment, path: 'a.py', line: 3 });
  const place = { repo: 1, side: 'new', line: 0, lines: [] };
  expect(calls.mock.calls.map(([, , body]) => body as unknown)).toEqual([
    { ...place, path: '', text: 'ada wrote on the pull request: Why two?' },
    { ...place, path: 'a.py', text: 'ada wrote on the pull request, at line 3: Why two?' },
  ]);
});

test('the queue outlasts the page', () => {
  queueThreads('sb', 't_1');
  queued.set({});
  restoreQueue();
  expect(queued.get()).toEqual({ sb: 't_1' });
  queueThreads('sb', null);
  restoreQueue();
  expect(queued.get()).toEqual({});
});

test('queued threads wait for the end of the turn', () => {
  const agent = (status: string) =>
    ({ id: 't_1', agent: 'codex', mode: 'tui', status: { status } }) as SandboxAgent;
  expect(fateOf(undefined)).toBe('wait');
  expect(['working', 'needs_you'].map((one) => fateOf(agent(one)))).toEqual(['wait', 'wait']);
  expect(['done', 'idle', 'failed', 'stopped'].map((one) => fateOf(agent(one)))).toEqual([
    ...['send', 'send', 'send', 'release'],
  ]);
});

const boxed = (status: string) =>
  [
    {
      ...{ sandbox_id: 'sb', name: 'box' },
      agents: [{ id: 't_1', agent: 'codex', status: { status } }],
    },
  ] as unknown as readonly Sandbox[];

test('queued threads are sent once when the turn ends, those that are unsent', async () => {
  const known = threadOf({ thread_id: 'thr_2', unsent: false });
  calls.mockImplementation((method: string) =>
    Promise.resolve(method === 'GET' ? { threads: [threadOf(), known] } : {}),
  );
  queueThreads('sb', 't_1');
  sandboxes.set(boxed('working'));
  const stop = followQueue();
  expect(calls).not.toHaveBeenCalled();
  sandboxes.set(boxed('done'));
  sandboxes.set(boxed('idle'));
  await vi.waitFor(() => expect(notify).toHaveBeenCalled());
  expect(calls.mock.calls.filter(([method]) => method === 'POST')).toEqual([
    ['POST', 'v1/sandboxes/sb/threads/send', { agent_id: 't_1', threads: ['thr_1'] }],
  ]);
  expect(queued.get()).toEqual({});
  // Who waits for an agent that ended is told, and one of a sandbox that is gone is not kept.
  sandboxes.set(boxed('working'));
  queueThreads('sb', 't_1');
  sandboxes.set(boxed('stopped'));
  expect(notify).toHaveBeenLastCalledWith(expect.stringContaining('box: the agent ended'), 'bad');
  queueThreads('gone', 't_9');
  expect(queued.get()).toEqual({});
  stop();
});

test('a failure to send is told, unless somebody else was faster', async () => {
  const agent = { id: 't_1', agent: 'codex' };
  calls.mockRejectedValueOnce(new Problem('busy', 502, 'agent'));
  await sendThreads('sb', agent, [threadOf()]);
  expect(failed.mock.calls).toEqual([['The comments were not sent, and are kept', 'busy']]);
  calls.mockRejectedValueOnce(new Problem('none', 409, 'nothing_to_send'));
  await sendThreads('sb', agent, [threadOf()]);
  expect(failed).toHaveBeenCalledTimes(1);
  expect(notify).not.toHaveBeenCalled();
});
