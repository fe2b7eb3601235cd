/** What the agents of sandboxes do. Pure: `sandboxes` holds them, and the log's events change them. */

import type { AgentStatus, Envelope, Sandbox, SandboxAgent } from '../../api/types';
import { plural, t, worded } from '../../language/t';

type Kind = AgentStatus['status'];

/** What an event leaves out. */
const UNKNOWN: Omit<AgentStatus, 'status'> = {
  since: '',
  on: '',
  question: '',
  card: '',
  answer: '',
  options: [],
  words: false,
  turns: 0,
  reason: '',
  commits: null,
  plus: null,
  minus: null,
};

/** Those that concern their person most come first. */
const ORDER: readonly Kind[] = ['needs_you', 'failed', 'done', 'working', 'idle', 'stopped'];
/** The states of a task whose agent comes, where none is there yet. */
const COMING: readonly string[] = ['queued', 'waiting', 'given'];
/** More agents of one sandbox are not shown. */
const MOST = 80;

/** The words a person reads, by status. */
export const statusWords = worded<Readonly<Record<Kind, string>>>(() => ({
  working: t`Working`,
  needs_you: t`Needs you`,
  done: t`Done`,
  idle: t`Idle`,
  stopped: t`Stopped`,
  failed: t`Failed`,
}));

export function agentsOf(sandbox: Sandbox): readonly SandboxAgent[] {
  return sandbox.agents;
}

/** Whether an agent has no mode at a terminal: one that was added and speaks ACP alone. */
export function hasCardsOnly(agent: string): boolean {
  return agent.startsWith('acp:');
}

/** The names of the agents that can be started: the sandbox's own first, which may have a version. */
export function agentsInside({
  agent,
  agents_inside: inside,
}: Pick<Sandbox, 'agent' | 'agents_inside'>): readonly string[] {
  const nameOf = (one: string): string => one.replace(/@.*$/, '');
  const others = (inside ?? []).map(nameOf).filter((one) => one !== nameOf(agent ?? ''));
  return agent === null ? others : [agent, ...others];
}

/** What a button that starts an agent says. */
export function startWords(agent: string): string {
  return hasCardsOnly(agent) ? t`New ${agent} agent, as cards` : t`New ${agent} terminal`;
}

/** The agent that concerns its person most, the longest waiting before the others. */
export function leadOf(sandbox: Sandbox): SandboxAgent | null {
  const rank = ({ status }: SandboxAgent): number => ORDER.indexOf(status.status);
  return (
    [...agentsOf(sandbox)].sort(
      (a, b) => rank(a) - rank(b) || a.status.since.localeCompare(b.status.since),
    )[0] ?? null
  );
}

export function needsYou(sandbox: Sandbox): boolean {
  return longestNeedy(sandbox) !== null;
}

/** The agent that has waited longest for its person. */
export function longestNeedy(sandbox: Sandbox): SandboxAgent | null {
  const lead = leadOf(sandbox);
  return lead?.status.status === 'needs_you' ? lead : null;
}

/** Whether an agent is there that has not ended, or is about to come for its task. */
export function hasAgent(sandbox: Sandbox): boolean {
  const agents = agentsOf(sandbox);
  if (agents.length === 0) return COMING.includes(sandbox.task?.state ?? 'none');
  return agents.some(({ status: { status } }) => status !== 'stopped');
}

/** Those that need their person before the others, which keep their order. */
export function needyFirst(list: readonly Sandbox[]): readonly Sandbox[] {
  return [...list].sort((a, b) => Number(needsYou(b)) - Number(needsYou(a)));
}

/** What the status is about, in a line: the question, the last tool or sentence, the reason. */
export function aboutOf({ status }: SandboxAgent): string {
  switch (status.status) {
    case 'needs_you':
      return status.question;
    case 'working':
      return status.on;
    case 'done':
      return doneWords(status) || status.on;
    case 'failed':
    case 'idle':
    case 'stopped':
      return status.reason;
  }
}

/** `3 turns, 2 commits, +12 −3`, as `atoll list` says it. */
function doneWords(status: AgentStatus): string {
  const { turns } = status;
  const made = changeWords(status);
  const took = turns === 0 ? '' : plural(turns, { one: '# turn', other: '# turns' });
  return [took, made].filter((one) => one !== '').join(', ');
}

/** `2 commits, +12 −3`; empty where nothing changed or nothing is known. */
export function changeWords({
  commits,
  plus,
  minus,
}: Pick<AgentStatus, 'commits' | 'plus' | 'minus'>): string {
  const none = (plus ?? 0) === 0 && (minus ?? 0) === 0;
  const lines = none || plus === null || minus === null ? '' : `+${plus} −${minus}`;
  const made =
    commits === null || commits === 0
      ? ''
      : plural(commits, { one: '# commit', other: '# commits' });
  return [made, lines].filter((one) => one !== '').join(', ');
}

/** The list after an event `agent.status`; null when the event names nobody known. */
export function withStatus(
  list: readonly Sandbox[],
  id: string,
  { payload }: Envelope,
): readonly Sandbox[] | null {
  const told = payload as Partial<AgentStatus & Omit<SandboxAgent, 'status'>>;
  const at = list.findIndex((one) => one.sandbox_id === id);
  const sandbox = list[at];
  if (sandbox === undefined || told.id === undefined || !isKind(told.status)) return null;
  const others = agentsOf(sandbox).filter((one) => one.id !== told.id);
  const { id: agentId, agent: name = '', mode = 'tui', ...members } = told;
  const agent: SandboxAgent = {
    id: agentId,
    agent: name,
    mode,
    status: { ...UNKNOWN, ...members, status: told.status },
  };
  const changed = { ...sandbox, agents: [...others, agent].slice(-MOST) };
  return list.with(at, changed);
}

function isKind(value: unknown): value is Kind {
  return ORDER.includes(value as Kind);
}
