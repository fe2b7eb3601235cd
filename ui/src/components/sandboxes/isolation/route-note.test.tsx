/** Where a sandbox is: its place, the one that was to be, and why others were left out. */

import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it, vi } from 'vitest';
import type { Route } from '../../../api/overview';
import { Decided } from './RouteNote';

vi.hoisted(() => {
  vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => undefined });
  vi.stubGlobal('location', { hash: '', origin: 'http://localhost' });
});

type Candidate = Route['candidates'][number];

const considered = (host: string, ...reasons: readonly string[]): Candidate => ({
  extension: 'ext.ssh',
  host,
  region: '',
  fit: reasons.length === 0,
  reasons,
  isolation: 'container',
  execution_mode: 'sandbox',
  self_hosted: true,
  gpus: [],
  cost_per_hour: null,
  health: { attempts: 0, success: null, p50_ms: null, p95_ms: null, breaker: 'closed' },
});

const at = (host: string) => ({ extension: 'ext.ssh', host, region: '' });

const decided = (more: Partial<Route> = {}): Route => ({
  route_id: 'rt_1',
  sandbox_id: 'sb_1',
  at: '2026-01-01T00:00:00Z',
  strategy: 'lowest-cost',
  extensions: [],
  only: null,
  allowed: [],
  limits: [],
  need: {
    isolation: 'container',
    image: '',
    closed_network: true,
    cpu: null,
    memory_mb: null,
    workspace_mb: null,
  },
  candidates: [considered('one'), considered('two'), considered('three', 'draining', '<b>full')],
  chosen: at('one'),
  attempts: [],
  moves: [],
  ...more,
});

const drawn = (route: Route, host: string): string =>
  renderToStaticMarkup(createElement(Decided, { route, now: { extension: 'ext.ssh', host } }));

describe('the route of a sandbox', () => {
  it('is its place and its strategy, with the candidates on request', () => {
    const html = drawn(decided(), 'one');
    expect(html).toContain('<dd>ext.ssh at one</dd>');
    expect(html).not.toContain('First choice');
    expect(html).not.toContain('Failed starts');
    expect(html).toContain('the lowest declared price');
    expect(html).toContain('<details class="route-more"><summary>3 candidates');
    expect(html).toContain('draining · &lt;b&gt;full');
  });

  it('names where it is after a start failed elsewhere, and where it was to be', () => {
    const failed = { ...at('one'), at: '2026-01-01T00:00:01Z', reason: 'no answer' };
    const ready = { ...at('two'), at: '2026-01-01T00:00:09Z', reason: null };
    const html = drawn(decided({ attempts: [failed, ready] }), 'two');
    expect(html).toContain('<dt>Place</dt><dd>ext.ssh at two</dd>');
    expect(html).toContain('<dt>First choice</dt><dd>ext.ssh at one</dd>');
    expect(html).toContain('ext.ssh at one failed: no answer');
    expect(html).not.toContain('ext.ssh at two failed');
  });

  it('names each evacuation since', () => {
    const moves = [{ source: 'one', target: 'two', at: '2026-01-02T00:00:00Z' }];
    const html = drawn(decided({ moves }), 'two');
    expect(html).toContain('<dt>Place</dt><dd>ext.ssh at two</dd>');
    expect(html).toContain('evacuated from one to two');
    expect(drawn(decided(), 'one')).not.toContain('Evacuations');
  });

  it('names the region of a vendor once, where it is the first choice', () => {
    const rented = { extension: 'ext.e2b', host: '', region: 'eu' };
    const html = renderToStaticMarkup(
      createElement(Decided, { route: decided({ chosen: rented }), now: rented }),
    );
    expect(html).toContain('<dt>Place</dt><dd>ext.e2b at eu</dd>');
    expect(html).not.toContain('First choice');
  });

  it('names the place of a sandbox for which nothing was chosen', () => {
    const html = drawn(decided({ candidates: [], chosen: null }), '');
    expect(html).toContain('<dt>Place</dt><dd>ext.ssh</dd>');
    expect(html).toContain('0 candidates');
  });
});
