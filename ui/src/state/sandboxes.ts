/**
 * The sandboxes and their terminals, as last seen, kept fresh by the event log.
 *
 * An event is a nudge: what it names is fetched again, at most once per short while.
 */

import { Problem } from '../api/call';
import { api } from '../api/client';
import { shareEvents } from '../api/shared-events';
import type { Envelope, Sandbox, Terminal } from '../api/types';
import { t } from '../language/t';
import { withStatus } from './attention/agents';
import { notify, notifyFailure } from './announce';
import { loadApprovals } from './approvals';
import { duration, secondsUntil } from './clock';
import { loadInbox, waits } from './attention/inbox';
import { hearPort, ports } from './previews/ports';
import { hearRefusal, refusals } from './refusals';
import { listensWhileHidden } from './attention/settings';
import { only, Store } from './store';
import { mayManage } from './team/rights';
import { loadTeam, movesTeam, team } from './team/team';

/** null until the first answer. */
export const sandboxes = new Store<readonly Sandbox[] | null>(null);
/** Terminals by sandbox id, of the sandboxes somebody looked at. */
export const terminals = new Store<Readonly<Record<string, readonly Terminal[]>>>({});
/** Whether events flow, that is, whether what is shown is live. */
export const connected = new Store(true);

/** Counts by sandbox how often its review threads changed. */
export const threadsMoved = new Store<Readonly<Record<string, number>>>({});

const GATHER_MS = 80;
/** Events after which a sandbox's agents are worth another look. */
const AGENT_MOVES = ['agent.state', 'agent.started', 'agent.ended'];
/** Events besides the sandbox's own that change what it shows of itself. */
const SHOWN_MOVES = [
  'agent.started',
  'agent.instructed',
  'network.switched',
  'task.queued',
  'task.given',
  'task.failed',
  'git.tree',
  'git.pull_opened',
  'git.pull_updated',
  'git.pull_changed',
  'work.changed',
  'work.reviewed',
  'work.merged',
];
const pending = new Map<string, number>();
/** Counts statuses of agents that came as events. An answer that was under way when one came may be
 *  older than it, so it is fetched again, without haste. */
let statuses = 0;
const AGAIN_MS = 1_000;

/** Runs `work` soon, once, however often it is asked for until then. */
function soon(key: string, work: () => Promise<void>, afterMs = GATHER_MS): void {
  if (pending.has(key)) return;
  const timer = window.setTimeout(() => {
    pending.delete(key);
    // A failed refresh is not news: the connection mark says that we are cut off.
    work().catch(() => undefined);
  }, afterMs);
  pending.set(key, timer);
}

/** Puts one answer of the API into the list at once. */
export function keep(sandbox: Sandbox): void {
  sandboxes.set((now) => {
    const others = (now ?? []).filter((one) => one.sandbox_id !== sandbox.sandbox_id);
    const all = sandbox.state === 'destroyed' ? others : [...others, sandbox];
    return all.sort((a, b) => b.created_at.localeCompare(a.created_at));
  });
  if (sandbox.state === 'destroyed') forgetOthers();
}

/** Drops what is known of sandboxes that are gone, so that a page open for days stays small. */
function forgetOthers(): void {
  const ids = new Set((sandboxes.get() ?? []).map((one) => one.sandbox_id));
  terminals.set((now) => only(now, ids));
  agentsMoved.set((now) => only(now, ids));
  threadsMoved.set((now) => only(now, ids));
  refusals.set((now) => only(now, ids));
  ports.set((now) => only(now, ids));
}

export function keepTerminals(id: string, list: readonly Terminal[]): void {
  const sorted = [...list].sort((a, b) => a.started_at.localeCompare(b.started_at));
  terminals.set((now) => ({ ...now, [id]: sorted }));
}

/** Fetches the terminals of one sandbox. */
export async function loadTerminals(id: string): Promise<void> {
  keepTerminals(id, await api.terminals(id));
}

/**
 * Fetches one terminal: with the others of its sandbox, or alone where the caller watches it
 * without seeing the sandbox, as the pane of a dashboard.
 */
export async function loadTerminal(id: string, terminalId: string): Promise<void> {
  try {
    await loadTerminals(id);
  } catch (reason) {
    if (!(reason instanceof Problem) || reason.status !== 404) throw reason;
    const found = await api.terminal(id, terminalId);
    const others = (terminals.get()[id] ?? []).filter((one) => one.terminal_id !== terminalId);
    keepTerminals(id, [...others, found]);
  }
}

async function loadAll(): Promise<void> {
  const before = statuses;
  const list = await api.sandboxes();
  sandboxes.set([...list].sort((a, b) => b.created_at.localeCompare(a.created_at)));
  forgetOthers();
  // eslint-disable-next-line words/written -- a key, which nobody reads
  if (before !== statuses) soon('all again', loadAll, AGAIN_MS);
}

async function loadOne(id: string): Promise<void> {
  const before = statuses;
  try {
    keep(await api.sandbox(id));
    // eslint-disable-next-line words/written -- a key, which nobody reads
    if (before !== statuses) soon(`again ${id}`, () => loadOne(id), AGAIN_MS);
  } catch {
    await loadAll();
  }
}

/** Counts what changed about the agents of each sandbox. */
export const agentsMoved = new Store<Readonly<Record<string, number>>>({});

/** Counts what changed about secrets, so that who shows them looks again. */
export const secretsMoved = new Store(0);

function lookAtSecrets(): Promise<void> {
  secretsMoved.set((now) => now + 1);
  // Which sandboxes hold an exposed one may have changed with it.
  return loadAll();
}

/** Events that make an item of the inbox, or end one. */
const NEW_ITEMS: readonly string[] = [
  ...['git.pushed', 'sandbox.ends_soon', 'sandbox.setup_ended'],
  ...['dashboard.mentioned', 'dashboard.mention_ended'],
];

/** Whether an event may have changed what waits for this person. */
function movesInbox({ event_type: kind, stream, payload }: Envelope): boolean {
  if (kind.startsWith('approval.') || kind === 'agent_login.changed') return true;
  if (NEW_ITEMS.includes(kind)) return true;
  if (kind === 'work.changed') {
    return [payload['work_state'], payload['before']].includes('in_conflict');
  }
  if (kind !== 'agent.status' && !kind.startsWith('sandbox.')) return false;
  return payload['status'] === 'needs_you' || waits(stream.slice('sandbox:'.length));
}

function hearStatus(id: string, event: Envelope): void {
  statuses += 1;
  const now = withStatus(sandboxes.get() ?? [], id, event);
  // eslint-disable-next-line words/written -- a key, which nobody reads
  if (now === null) soon(`sandbox ${id}`, () => loadOne(id));
  else sandboxes.set(now);
}

/** Events that are read themselves, instead of fetching what they name. */
const TOLD: Readonly<Record<string, (id: string, event: Envelope) => void>> = {
  'agent.status': hearStatus,
  'door.refused': hearRefusal,
  'port.opened': tellPort,
  'port.closed': tellPort,
  'share.entered': welcomeGuest,
  'sandbox.ends_soon': warnOfEnd,
};

/** What belongs to no sandbox alone. */
function onAnyEvent(event: Envelope): void {
  const { stream, event_type: kind } = event;
  if (movesTeam(stream)) soon('team', loadTeam);
  if (kind.startsWith('approval.')) soon('approvals', loadApprovals);
  if (movesInbox(event)) soon('inbox', loadInbox);
  if (kind.startsWith('secret.')) soon('secrets', lookAtSecrets);
}

function onEvent(event: Envelope): void {
  const { stream, event_type: kind } = event;
  onAnyEvent(event);
  const id = stream.startsWith('sandbox:') ? stream.slice('sandbox:'.length) : null;
  if (id === null) return;
  if (AGENT_MOVES.includes(kind)) {
    agentsMoved.set((now) => ({ ...now, [id]: (now[id] ?? 0) + 1 }));
  }
  if (kind.startsWith('thread.')) moveThreads(id);
  TOLD[kind]?.(id, event);
  if (kind.startsWith('sandbox.') || SHOWN_MOVES.includes(kind))
    // eslint-disable-next-line words/written -- a key, which nobody reads
    soon(`sandbox ${id}`, () => loadOne(id));
  if (kind.startsWith('terminal.') && id in terminals.get()) {
    // eslint-disable-next-line words/written -- a key, which nobody reads
    soon(`terminals ${id}`, () => loadTerminals(id));
  }
}

/** Says that the review threads of a sandbox are worth another look. */
export function moveThreads(id: string): void {
  threadsMoved.set((now) => ({ ...now, [id]: (now[id] ?? 0) + 1 }));
}

function tellPort(id: string, event: Envelope): void {
  hearPort(id, event, sandboxes.get() ?? []);
}

/** Says that a sandbox ends soon, wherever on the page its person is. */
function warnOfEnd(id: string, { payload }: Envelope): void {
  const sandbox = sandboxes.get()?.find((one) => one.sandbox_id === id);
  const end = payload['expires_at'];
  if (sandbox === undefined || typeof end !== 'string' || !mayManage(team.get(), sandbox)) return;
  const left = duration(secondsUntil(end, Date.now()));
  notify(t`${sandbox.name} ends in ${left}: extend it, or pull its work.`, 'bad');
}

/** Says who came by a share link: the owner should know who watches. */
function welcomeGuest(id: string, { payload }: Envelope): void {
  const { name, role } = payload as { name?: unknown; role?: unknown };
  const place = sandboxes.get()?.find((one) => one.sandbox_id === id)?.name ?? t`a sandbox`;
  const who = typeof name === 'string' ? name : t`A guest`;
  notify(
    role === 'viewer'
      ? t`${who} came to ${place} by your link, to watch.`
      : t`${who} came to ${place} by your link, to watch and type.`,
  );
}

/** Loads everything and follows the log until the returned function is called. */
export function followSandboxes(): () => void {
  loadAll().catch(notifyFailure(t`The list of sandboxes could not be loaded`));
  return shareEvents({
    onEvent,
    onConnection: (is) => connected.set(is),
    lingers: listensWhileHidden,
    onConnect: () => {
      soon('all', loadAll);
      soon('team', loadTeam);
      soon('approvals', loadApprovals);
      soon('inbox', loadInbox);
      for (const { sandbox_id: id } of sandboxes.get() ?? []) moveThreads(id);
      for (const id of Object.keys(terminals.get())) {
        // eslint-disable-next-line words/written -- a key, which nobody reads
        soon(`terminals ${id}`, () => loadTerminals(id));
      }
    },
  });
}
