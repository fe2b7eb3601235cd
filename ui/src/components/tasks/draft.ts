/** The draft of a task, and the requests that it makes: one for each agent. Pure. */

import type { CreateSandbox, NetworkMode, Repository } from '../../api/types';
import { t } from '../../language/t';
import type { RepositoryPlace } from './beginning';
import { wordsWith, type IssueTask } from './issues/issues';
import type { FieldName } from '../parts/Field';
import { branchForAgent, freeBranch, proposedBranch } from '../../state/tasks/branch';

/** `repo`: '' for none, `key:…` of one that is here, `url` for the address. */
export interface TaskDraft {
  readonly prompt: string;
  /** The issue or pull request that is the task; the words are then beside its own. */
  readonly issue: IssueTask | null;
  readonly agents: readonly string[];
  /** A sandbox alone: no agent starts, and nobody receives the words. */
  readonly bare: boolean;
  /** In the sandbox that is offered beside a new one; without words its agent waits there. */
  readonly within: boolean;
  /** The sandbox's name; '' is made of repository and branch. Only where there is one sandbox. */
  readonly name: string;
  readonly repo: string;
  readonly url: string;
  /** Whether a person chose the repository, or none, in this box. */
  readonly chosen: boolean;
  /** null until somebody types one: then the sentence proposes it. */
  readonly branch: string | null;
  readonly fromBranch: string;
  readonly profile: string;
  readonly mode: 'tui' | 'machine';
  readonly asks: boolean;
  readonly network: string;
  readonly ttl: string;
  /** Whether every member of the team finds it. */
  readonly shared: boolean;
  /** Queue it while so many are at work; '' as the server says. */
  readonly maxWorking: string;
}

export const EMPTY: TaskDraft = {
  prompt: '',
  issue: null,
  agents: [],
  bare: false,
  within: false,
  name: '',
  repo: '',
  url: '',
  chosen: false,
  branch: null,
  fromBranch: '',
  profile: '',
  mode: 'tui',
  asks: false,
  network: '',
  ttl: '',
  shared: false,
  maxWorking: '',
};

/** The branch that was typed, else the one that the words propose: a free one beside `taken`. */
export function branchOf(draft: TaskDraft, taken: ReadonlySet<string> = NOTHING): string {
  if (draft.branch !== null) return draft.branch;
  return draft.bare ? '' : freeBranch(proposedBranch(draft.prompt), taken);
}

const NOTHING: ReadonlySet<string> = new Set();

/** Why a draft cannot be sent, and which field lacks. */
export interface Lack {
  readonly field: FieldName | 'prompt' | 'agents' | null;
  readonly text: string;
}

/** Why the draft cannot be sent, null when it can. */
export function lackOf(draft: TaskDraft): Lack | null {
  if (draft.within)
    return draft.agents.length === 1 ? null : { field: 'agents', text: t`Choose an agent.` };
  if (!draft.bare && draft.issue === null && draft.prompt.trim() === '')
    return { field: 'prompt', text: t`Say what is to be done.` };
  if (!draft.bare && draft.agents.length === 0)
    return { field: 'agents', text: t`Choose an agent.` };
  if (draft.repo === 'url' && draft.url.trim() === '')
    return { field: 'repo_url', text: t`Give the address of a repository.` };
  return null;
}

/** The branch from which several agents go on, each on one of its own: the one that somebody typed,
 *  where the repository has it; null where nobody asked for one. */
export function baseOf({ agents, repo, branch, fromBranch }: TaskDraft): string | null {
  const asks = agents.length > 1 && repo !== '' && fromBranch.trim() === '';
  return asks ? branch?.trim() || null : null;
}

/** The request of a sandbox without an agent. */
function bareBody(draft: TaskDraft, known: readonly Repository[]): CreateSandbox {
  const typed = { branch: draft.branch?.trim() ?? '', from: draft.fromBranch.trim() || null };
  return { ...commonOf(draft), repos: reposOf(draft, known, typed) };
}

function commonOf(draft: TaskDraft): CreateSandbox {
  const name = draft.agents.length > 1 ? '' : draft.name.trim();
  return {
    ...(draft.profile === '' ? {} : { profile: draft.profile }),
    ...(name === '' ? {} : { name }),
    ...(draft.network === '' ? {} : { network_mode: draft.network as NetworkMode }),
    ...(draft.shared ? { scope: 'shared' as const } : {}),
    ...(draft.ttl === '' ? {} : { ttl: draft.ttl }),
    consumer: { actor: 'adm', harness: 'atoll-page' },
  };
}

/** One request for each agent, or one without; `group` links several. `base` is where new branches begin unless
 *  the draft says it. */
export function bodiesOf(
  draft: TaskDraft,
  known: readonly Repository[],
  group: string,
  base: string | null = null,
): readonly CreateSandbox[] {
  if (draft.bare) return [bareBody(draft, known)];
  const several = draft.agents.length > 1;
  return draft.agents.map((agent) => {
    const branch = sentBranch(draft, several ? agent : null);
    return {
      ...commonOf(draft),
      agent,
      prompt: wordsWith(draft.issue, draft.prompt),
      task: {
        ...(draft.mode === 'machine' ? { mode: 'machine' as const } : {}),
        permissions: draft.asks ? 'ask' : 'allow',
        group: several ? group : null,
        max_working: draft.maxWorking === '' ? null : Number(draft.maxWorking),
        ...(draft.issue === null ? {} : { issue: draft.issue.url }),
      },
      repos: reposOf(draft, known, { branch, from: draft.fromBranch.trim() || base }),
    };
  });
}

/** The branch that goes with the request. Without one that somebody typed, the server names a free
 * one after the words. */
function sentBranch(draft: TaskDraft, agent: string | null): string {
  const typed = draft.branch?.trim() ?? '';
  return agent === null || typed === '' ? typed : branchForAgent(typed, agent);
}

function reposOf(
  draft: TaskDraft,
  known: readonly Repository[],
  { branch, from }: { readonly branch: string; readonly from: string | null },
): NonNullable<CreateSandbox['repos']> {
  if (draft.repo === '') return [];
  const here = known.find(({ key }) => `key:${key}` === draft.repo);
  const local = here === undefined || here.repo_url ? null : `local/${here.name}`;
  return [
    {
      repo_url: here === undefined ? draft.url.trim() : here.repo_url || local,
      key: here?.key ?? null,
      branch: branch || null,
      from_branch: from,
    },
  ];
}

/** Where the draft's repository is; null where it has none. */
export function placeOf(
  draft: Pick<TaskDraft, 'repo' | 'url'>,
  known: readonly Repository[],
): RepositoryPlace | null {
  if (draft.repo === '') return null;
  const here = known.find(({ key }) => `key:${key}` === draft.repo);
  return { key: here?.key ?? null, address: here?.repo_url ?? draft.url.trim() };
}

const GONE = ['destroying', 'destroyed'];

interface Member {
  readonly state: string;
  readonly task: { readonly group: string | null } | null;
}

/** The sandboxes of each group of more than one that are not gone, in their order. */
export function groupsOf<T extends Member>(list: readonly T[]): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>();
  for (const one of list) {
    if (GONE.includes(one.state)) continue;
    const group = one.task?.group ?? null;
    if (group !== null) groups.set(group, [...(groups.get(group) ?? []), one]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

/** The sandboxes of one group that are not gone. */
export function membersOf<T extends Member>(
  list: readonly T[],
  group: string | null,
): readonly T[] {
  return list.filter((one) => !GONE.includes(one.state) && one.task?.group === group);
}

const MAX_HEAD = 120;

/** The first line of what a group was asked, cut. */
export function headOf(
  group: readonly { readonly task: { readonly prompt: string } | null }[],
): string {
  const line = group[0]?.task?.prompt.trim().split('\n')[0] ?? '';
  return line.length > MAX_HEAD ? `${line.slice(0, MAX_HEAD)}…` : line;
}
