import { expect, test } from 'vitest';
import type { InboxItem, Sandbox } from '../../api/types';
import { admit, badgeAfter, newsOf, seenOf, type Badge, type Times } from './news';

function box(id: string, ...agents: [string, string, string][]): Sandbox {
  const list = agents.map(([agent, status, since]) => ({
    id: agent,
    agent: 'codex',
    mode: 'tui',
    status: { status, since, question: 'rm -rf /', on: '' },
  }));
  return { sandbox_id: id, name: `box ${id}`, agents: list } as unknown as Sandbox;
}

function asked(id: string, kind = 'secret'): InboxItem {
  const more = { sandbox_id: 'a', sandbox_name: 'box a', lines: ['secret'] };
  return { id, kind, ...more } as unknown as InboxItem;
}

const NOTHING = seenOf([], []);

test('an agent that begins to need its person is news once', () => {
  const now = seenOf([box('a', ['t_1', 'needs_you', '1'])], []);
  expect(newsOf(NOTHING, now)).toEqual([{ reason: 'needs_you', sandboxId: 'a', name: 'box a' }]);
  expect(newsOf(now, now)).toEqual([]);
  const again = seenOf([box('a', ['t_1', 'needs_you', '2'])], []);
  expect(newsOf(now, again)).toHaveLength(1);
});

test('working, idle and ended agents are no news', () => {
  const states = ['working', 'idle', 'stopped'];
  const list = states.map((status, i) => box(String(i), ['t', status, '1']));
  expect(newsOf(NOTHING, seenOf(list, []))).toEqual([]);
});

test('many of one sandbox at once are one piece of news, and hold no text from inside', () => {
  const list = [
    box('a', ['t_1', 'needs_you', '1'], ['t_2', 'needs_you', '1'], ['t_3', 'done', '1']),
  ];
  const news = newsOf(NOTHING, seenOf(list, [asked('ap_1'), asked('ap_2'), asked('q_1', 'agent')]));
  expect(news.map(({ reason }) => reason).sort()).toEqual(['done', 'needs_you']);
  expect(JSON.stringify(news)).not.toMatch(/rm -rf|secret/);
});

test('an agent that failed, and a failed set-up, are news of their own', () => {
  const now = seenOf([box('a', ['t_1', 'failed', '1'])], [asked('setup_1', 'setup')]);
  const news = newsOf(NOTHING, now);
  expect(news.map(({ reason }) => reason)).toEqual(['failed', 'setup_failed']);
  expect(newsOf(now, now)).toEqual([]);
});

test('an end that comes soon is news of its own', () => {
  expect(newsOf(NOTHING, seenOf([], [asked('end_1', 'end')]))[0]?.reason).toBe('ends_soon');
});

test('a held push is news as the other items are', () => {
  const now = seenOf([], [asked('kept_1', 'push'), asked('ap_1', 'host')]);
  const news = newsOf(NOTHING, now);
  expect(news.map(({ reason }) => reason).sort()).toEqual(['needs_you', 'pushed']);
  expect(newsOf(now, now)).toEqual([]);
});

test('questions, requests and pushes of a sandbox share its ten notifications a minute', () => {
  let before = NOTHING;
  let times: Times = {};
  let told = 0;
  for (let i = 0; i < 40; i += 1) {
    const items = [asked(`kept_${i}`, 'push'), asked(`ap_${i}`), asked(`h_${i}`, 'host')];
    const now = seenOf([box('a', ['t_1', 'needs_you', String(i)])], items);
    for (const { sandboxId } of newsOf(before, now)) {
      const after = admit(times, sandboxId, i);
      told += after === null ? 0 : 1;
      times = after ?? times;
    }
    before = now;
  }
  expect(told).toBe(10);
});

test('a sandbox makes ten notifications a minute, and others make theirs', () => {
  let times: Times = {};
  for (let i = 0; i < 10; i += 1) times = admit(times, 'a', i) ?? times;
  expect(admit(times, 'a', 11)).toBeNull();
  expect(admit(times, 'b', 11)).not.toBeNull();
  expect(Object.keys(admit(times, 'b', 70_000) ?? {})).toEqual(['b']);
});

test('the badge rises ten times a minute at most, and falls at once', () => {
  let badge: Badge = { count: 0, rises: {} };
  for (let i = 0; i < 50; i += 1) {
    badge = badgeAfter(badge, i + 1, i);
    badge = badgeAfter(badge, i, i);
  }
  expect(badge.count).toBeLessThanOrEqual(10);
  expect(badgeAfter(badge, 0, 60).count).toBe(0);
  expect(badgeAfter(badge, 50, 120_000).count).toBe(50);
});

test('a mention is news of its dashboard, and leads to its item', () => {
  const place = { dashboard_id: 'dsh_1', dashboard_name: 'Plan', item_id: 'itm_1' };
  const [one, other] = ['mention', 'todo'].map(
    (kind, i) => ({ id: `mnt_${i}`, kind, place, lines: ['secret'] }) as unknown as InboxItem,
  );
  const news = newsOf(
    NOTHING,
    seenOf(
      [],
      [one, other].filter((item) => item !== undefined),
    ),
  );
  const told = { reason: 'mentioned', sandboxId: 'dsh_1', name: 'Plan', item: 'itm_1' };
  expect(news).toEqual([told]);
});
