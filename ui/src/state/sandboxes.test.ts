import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Envelope, Sandbox } from '../api/types';
import type { EventHandlers } from '../api/events';

const BOXES = 30;
const EVENTS = 60_000;

/** The page's stores over a server that answers at once, and the log it follows. */
async function page() {
  const answers: Readonly<Record<string, unknown>> = {
    'v1/inbox': { items: [] },
    'v1/approvals?state=granted': { approvals: [] },
  };
  let list = Array.from({ length: BOXES }, (_, i) => box(i));
  let handlers: EventHandlers | null = null;
  vi.doMock('../api/events', () => ({
    followEvents: (given: EventHandlers) => {
      handlers = given;
      return () => undefined;
    },
  }));
  vi.doMock('../api/call', () => ({
    call: (_: string, path: string) => {
      if (path.startsWith('v1/sandboxes?')) return Promise.resolve({ sandboxes: list, next: null });
      const found = list.find(({ sandbox_id: id }) => path === `v1/sandboxes/${id}`);
      return Promise.resolve(answers[path] ?? found ?? { terminals: [] });
    },
    sandboxAt: (id: string) => `v1/sandboxes/${id}`,
    onLoggedOut: () => undefined,
  }));
  const stores = await import('./sandboxes');
  const { refusals } = await import('./refusals');
  const stop = stores.followSandboxes();
  await vi.advanceTimersByTimeAsync(1_000);
  const log = handlers as EventHandlers | null;
  if (log === null) throw new Error('nobody follows');
  const replace = (next: Sandbox[]): void => {
    list = next;
  };
  return { ...stores, refusals, stop, log, replace };
}

function box(i: number): Sandbox {
  return {
    sandbox_id: `sb_${i}`,
    name: `box ${i}`,
    state: 'active',
    created_at: '2026-01-01T00:00:00Z',
    agents: [],
  } as unknown as Sandbox;
}

function event(i: number): Envelope {
  const id = `sb_${i % BOXES}`;
  const kinds = ['agent.status', 'door.refused', 'agent.state', 'terminal.opened', 'exec.exited'];
  const payload = {
    id: `t_${i % 3}`,
    agent: 'codex',
    mode: 'tui',
    status: i % 7 === 0 ? 'needs_you' : 'working',
    since: String(i),
    on: `step ${i}`,
    host: `host-${i}.example`,
    port: 443,
  };
  return {
    id: `ev_${i}`,
    stream: `sandbox:${id}`,
    event_type: kinds[i % kinds.length] ?? 'exec.exited',
    at: '2026-01-01T00:00:00Z',
    reason: null,
    payload: payload,
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  const timers = {
    setTimeout: (run: () => void, ms: number) => setTimeout(run, ms),
    setInterval: () => 0,
    addEventListener: () => undefined,
  };
  vi.stubGlobal('window', timers);
  vi.stubGlobal('location', { hash: '' });
  vi.stubGlobal('localStorage', { getItem: () => null });
});

afterEach(() => {
  vi.doUnmock('../api/events');
  vi.doUnmock('../api/call');
  vi.unstubAllGlobals();
  vi.useRealTimers();
  vi.resetModules();
});

test("a day's events of thirty sandboxes leave stores as small as an hour's", async () => {
  const at = await page();
  const size = (): number =>
    JSON.stringify([at.sandboxes.get(), at.terminals.get(), at.agentsMoved.get()]).length +
    JSON.stringify(at.refusals.get()).length;
  for (let i = 0; i < EVENTS / 24; i += 1) at.log.onEvent(event(i));
  await vi.advanceTimersByTimeAsync(5_000);
  const hour = size();
  for (let i = 0; i < EVENTS; i += 1) at.log.onEvent(event(i));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(size()).toBeLessThan(hour * 1.5);
  expect(vi.getTimerCount()).toBeLessThan(5);
  at.stop();
});

test('nothing is kept of sandboxes that are gone', async () => {
  const at = await page();
  for (let i = 0; i < 300; i += 1) at.log.onEvent(event(i));
  at.replace([box(0)]);
  at.log.onConnect();
  await vi.advanceTimersByTimeAsync(5_000);
  for (const store of [at.terminals, at.agentsMoved, at.refusals]) {
    expect(Object.keys(store.get()).filter((id) => id !== 'sb_0')).toEqual([]);
  }
  at.stop();
});
