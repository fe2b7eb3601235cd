/** What the page shows of a worker: everything there is, and nothing where a field is missing. */

import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it, vi } from 'vitest';
import type { Card } from '../../api/types';
import { questionsOf, threadsOf, usageOf, type Worker } from '../../api/workers';
import { TalkCard } from '../agents/TalkCard';
import { PlainFacts, routeLine, WorkerMark } from './marks';
import { WorkerActs } from './WorkerActs';

vi.hoisted(() => {
  const none = (): void => undefined;
  const kept = { getItem: () => null, setItem: none, removeItem: none, length: 0 };
  vi.stubGlobal('localStorage', kept);
  vi.stubGlobal('sessionStorage', kept);
  vi.stubGlobal('location', { hash: '', origin: 'http://localhost' });
  const media = () => ({ matches: false, addEventListener: none });
  const window = { addEventListener: none, matchMedia: media, setInterval: none, innerWidth: 1200 };
  vi.stubGlobal('window', window);
  vi.stubGlobal('document', { documentElement: { dataset: {} }, querySelector: none });
});

const PLACE = { backend: 'namespaces', extension: 'ext.namespaces', host: 'local', region: '' };
const OTHER = { ...PLACE, extension: 'ext.ssh', host: '<b>box' };
const WORKER = {
  ...{ worker_id: 'docs', agent: 'codex', backend: 'namespaces', extension: 'ext.namespaces' },
  ...{ status: 'running', reason: null, permissions: 'allow', workspace_ref: null },
  ...{ heartbeat_state: 'fresh', heartbeat_age_ms: 900, pending: { request_ids: [] } },
  ...{ teardown: { policy: 'retain', retain_for: '7d' }, held_by_person: false, sandbox: null },
  route: {
    ...{ route_id: 'r', at: '', strategy: 'explicit', chosen: PLACE },
    candidates: [{ placement: OTHER, execution_mode: 'sandbox', fit: false, reasons: ['<i>full'] }],
    attempts: [{ placement: OTHER, at: '', reason: 'no answer' }],
  },
} as unknown as Worker;
const worker = (more: object): Worker => ({ ...WORKER, ...more });
const facts = (of: Worker): string =>
  renderToStaticMarkup(createElement(PlainFacts, { worker: of }));
const acts = (more: object): string =>
  renderToStaticMarkup(
    createElement(WorkerActs, { worker: worker(more), onDone: () => undefined }),
  ).replace(/<[^>]*>/g, ' ');

const ASKED = {
  ...{ n: 1, id: 'a', rev: 1, kind: 'approval', state: 'pending', at: '', cut: false },
  ...{ title: 'May I?\u202e', text: 'rm -rf \u202ecod\u2066\nls', data: { answerable: true } },
  options: [{ id: 'yes', label: 'Allow\u200b', effect: 'allow' }],
} as unknown as Card;

it('what an agent asks for is spelled: nothing of it hides or turns around', () => {
  const asked = { card: ASKED, works: true, onTerminal: null, onRun: null };
  const none = () => Promise.resolve();
  const html = renderToStaticMarkup(createElement(TalkCard, { ...asked, onAnswer: none }));
  expect(html).toContain('rm -rf \\u{202e}cod\\u{2066}\nls');
  expect(html).toContain('May I?\\u{202e}');
  expect(html).toContain('Allow\\u{200b}');
});

it('a wake says why the agent was asked, and what changed', () => {
  const text = '- gha.run.completed atoll://gha/run/acme/app/17: failure';
  const told = { kind: 'status', state: 'done', title: 'Woken by Atoll: a change', text };
  const card = { ...ASKED, ...told, options: [], data: { wake: 'wake_1' } } as unknown as Card;
  const none = () => Promise.resolve();
  const shown = { card, works: true, onTerminal: null, onRun: null, onAnswer: none };
  const html = renderToStaticMarkup(createElement(TalkCard, shown));
  for (const words of ['Woken by Atoll: a change', text]) expect(html).toContain(words);
});

describe('a worker', () => {
  it('shows its heartbeat, its place and its agent, and no usage where there is none', () => {
    const html = facts(WORKER);
    for (const words of ['heartbeat fresh', 'namespaces', 'codex']) expect(html).toContain(words);
    expect(html).not.toContain('tokens');
    expect(html).not.toContain('asks first');
    expect(facts(worker({ backend: null }))).toContain('no backend yet');
    const late = { heartbeat_state: 'stale', heartbeat_age_ms: 24_500 };
    expect(facts(worker({ ...late, permissions: 'ask' }))).toContain('heartbeat stale for 24 s');
    const mark = renderToStaticMarkup(createElement(WorkerMark, { status: 'starting' }));
    expect(mark).toContain('Starting');
  });

  it('shows where it is by region or host, and a weak wall', () => {
    const at = (more: object) => facts(worker({ sandbox: { id: 'sb', isolation: null, ...more } }));
    expect(at({ region: 'eu', host: '' })).toContain('namespaces at eu');
    expect(at({ region: null, host: '<b>box' })).toContain('namespaces at &lt;b&gt;box');
    const elsewhere = worker({ backend: 'extension', extension: 'ext.<b>mine' });
    expect(facts(elsewhere)).toContain('ext.&lt;b&gt;mine');
    expect(facts(elsewhere)).not.toContain('extension');
    const isolation = { weak: true, degraded: [] };
    expect(at({ region: null, host: null, isolation })).toContain('namespaces, weak isolation');
  });

  it('says why it is not elsewhere', () => {
    expect(routeLine(WORKER)).toBe(
      'ext.ssh at <b>box failed: no answer · ext.ssh at <b>box: <i>full',
    );
    expect(routeLine(worker({ route: null }))).toBe('');
  });

  it('has what a newer server tells of it, read leniently', () => {
    expect([usageOf(WORKER), questionsOf(WORKER), threadsOf(WORKER)]).toEqual([null, null, []]);
    const usage = { requests: 1, input_tokens: 2_000, output_tokens: '<b>', cached_tokens: null };
    expect(usageOf(worker({ usage }))).toEqual({ requests: 1, input: 2_000, output: 0, cached: 0 });
    expect(facts(worker({ usage }))).toContain('1 model call');
    expect(usageOf(worker({ usage: { requests: 0, input_tokens: 0 } }))).toBeNull();
    const asked = [{ server_request_id: '7', method: 'm', params: 3 }, null, { method: 'x' }];
    expect(questionsOf(worker({ pending: { server_requests: asked } }))).toEqual([
      { id: '7', method: 'm', params: '' },
    ]);
    const threads = [{ thread_id: 't', title: null, turn_id: 'u' }, 4];
    expect(threadsOf(worker({ threads }))).toEqual([{ id: 't', title: '', turn: 'u' }]);
  });

  it('may be stopped, started and taken over as its state allows', () => {
    const words = (more: object) =>
      acts(more)
        .trim()
        .split(/\s{2,}/);
    expect(words({})).toEqual(['Take over', 'Stop']);
    expect(words({ held_by_person: true })).toEqual(['Open its terminal', 'Give back', 'Stop']);
    expect(words({ status: 'starting' })).toEqual(['Stop']);
    expect(words({ status: 'failed' })).toEqual(['Start again']);
    const torn_down = { removed: ['sandbox:sb_1'], leftovers: [] };
    expect(words({ status: 'stopped', torn_down })).toEqual(['']);
    expect(words({ heartbeat_state: 'missing' })).toEqual(['Start again', 'Stop']);
    // A terminal on a person's own machine is reached there alone.
    const there = { extension: 'ext.desktop', sandbox: { id: 'dk', host: 'laptop' } };
    expect(words(there)).toEqual(['Stop']);
    expect(words({ ...there, held_by_person: true })).toEqual(['Give back', 'Stop']);
  });
});
