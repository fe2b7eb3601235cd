/** What a person can do to sandboxes and terminals from anywhere on the page. */

import { api, type Fate } from '../api/client';
import type { Sandbox, TerminalChange } from '../api/types';
import { t, worded } from '../language/t';
import { notify, notifyFailure } from './announce';
import { hasCardsOnly } from './attention/agents';
import { go } from './route';
import { agentsMoved, keep, keepTerminals, terminals } from './sandboxes';

export type Act = 'sleep' | 'stop' | 'start' | 'recreate' | 'destroy';

export const actWords = worded<Readonly<Record<Act, string>>>(() => ({
  sleep: t`Let it sleep`,
  stop: t`Stop`,
  start: t`Start`,
  recreate: t`Recreate`,
  destroy: t`Destroy`,
}));

/** What may be done to a sandbox in its state, in the order of the buttons. */
export function actsOf({ state, ready_at, archived_at: archived }: Sandbox): readonly Act[] {
  // One that is archived is revived, which starts it.
  if (archived != null) return ['destroy'];
  switch (state) {
    case 'requested':
    case 'provisioning':
      return ['destroy'];
    case 'ready':
    case 'active':
      return ['sleep', 'stop', 'recreate', 'destroy'];
    case 'stopped':
      return ['start', 'recreate', 'destroy'];
    case 'failed':
      return ready_at === null ? ['recreate', 'destroy'] : ['start', 'recreate', 'destroy'];
    case 'expired':
      return ['start', 'recreate', 'destroy'];
    case 'destroying':
    case 'destroyed':
      return [];
  }
}

/** States in which its files are there and nothing is under way. */
const SETTLED: readonly Sandbox['state'][] = ['ready', 'active', 'stopped', 'expired', 'failed'];

/** Whether it can be given to another member. */
export function isSettled({ state }: Sandbox): boolean {
  return SETTLED.includes(state);
}

/** Whether it never had files that could be lost. */
export function neverHeldWork({ ready_at: readyAt }: Sandbox): boolean {
  return readyAt === null;
}

/** Whether it has a repository whose work can be brought home. */
export function comesHome({ state, repos }: Sandbox): boolean {
  return repos.length > 0 && SETTLED.includes(state);
}

/** Whether it is on its way, and nothing more has to be done for it to run. */
export function isComing({ state }: Sandbox): boolean {
  return state === 'requested' || state === 'provisioning';
}

/** Whether terminals can be opened in it now. */
export function isLive({ state }: Sandbox): boolean {
  return state === 'ready' || state === 'active';
}

/** Does it, or says why not. */
export async function perform(
  sandbox: Sandbox,
  act: Act,
  fate: Fate = { keeps: false, loses: false },
): Promise<void> {
  const { sandbox_id: id, name } = sandbox;
  try {
    const now = act === 'destroy' ? await api.destroy(id, fate) : await api.act(id, act);
    keep(now);
    if (act !== 'destroy') return;
    const kept =
      typeof now.kept_at === 'string' ? ` ${t`Its files are kept at ${now.kept_at}.`}` : '';
    notify(`${t`${name} is being destroyed.`}${kept}`);
    go(null);
  } catch (reason) {
    notifyFailure(t`${actWords()[act]} of ${name} failed`)(reason);
  }
}

/** Opens a terminal, of an agent or else the profile's shell, and shows it; of an agent that has no
 *  mode at a terminal, its cards. `cwd`: where it starts. Returns its id, or null when it could not
 *  be opened. */
export async function openTerminal(
  id: string,
  agent?: string,
  cwd?: string,
): Promise<string | null> {
  try {
    if (agent !== undefined && hasCardsOnly(agent)) {
      const started = await api.startAgent(id, agent);
      agentsMoved.set((now) => ({ ...now, [id]: (now[id] ?? 0) + 1 }));
      go(id, started.id);
      return started.id;
    }
    const made = await api.openTerminal(id, {
      ...(agent === undefined ? {} : { agent }),
      ...(cwd === undefined ? {} : { cwd }),
    });
    const now = terminals.get()[id] ?? [];
    keepTerminals(id, [...now.filter((one) => one.terminal_id !== made.terminal_id), made]);
    go(id, made.terminal_id);
    return made.terminal_id;
  } catch (reason) {
    notifyFailure(t`No terminal could be opened`)(reason);
    return null;
  }
}

/** Gives a terminal another name, or a fixed size, for everybody. */
export async function changeTerminal(
  id: string,
  terminalId: string,
  change: TerminalChange,
): Promise<void> {
  try {
    const made = await api.changeTerminal(id, terminalId, change);
    const now = terminals.get()[id] ?? [];
    keepTerminals(
      id,
      now.map((one) => (one.terminal_id === terminalId ? made : one)),
    );
  } catch (reason) {
    notifyFailure(t`The terminal could not be changed`)(reason);
  }
}

/** Ends a terminal and everything started from it. */
export async function closeTerminal(id: string, terminalId: string): Promise<void> {
  try {
    await api.closeTerminal(id, terminalId);
    const now = terminals.get()[id] ?? [];
    keepTerminals(
      id,
      now.filter((terminal) => terminal.terminal_id !== terminalId),
    );
  } catch (reason) {
    notifyFailure(t`The terminal could not be closed`)(reason);
  }
}
