/** The groups in which sandboxes stand: by how their work stands, or by repository. Pure. */

import type { Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { needyFirst } from '../attention/agents';
import { standingOf, workStateOf } from '../standing';

export type Lane = 'needs' | 'working' | 'review' | 'reviewed' | 'merged' | 'none';
export type Grouping = 'state' | 'repository';

export const laneWords = worded<Readonly<Record<Lane, string>>>(() => ({
  needs: t`Needs you`,
  working: t`Working`,
  review: t`To review`,
  reviewed: t`Reviewed`,
  merged: t`Merged`,
  none: t`Without a task`,
}));

export const LANES: readonly Lane[] = ['needs', 'review', 'working', 'reviewed', 'merged', 'none'];

const OF_WORK: Readonly<Record<string, Lane>> = {
  needs_you: 'needs',
  in_conflict: 'needs',
  queued: 'working',
  working: 'working',
  to_review: 'review',
  reviewed: 'reviewed',
  pr_open: 'reviewed',
  merged: 'merged',
  pr_merged: 'merged',
};

export function laneOf(sandbox: Sandbox): Lane {
  const { tone } = standingOf(sandbox);
  const work = workStateOf(sandbox);
  if (tone === 'needs' || tone === 'bad') return 'needs';
  if (tone === 'working') return 'working';
  return (work === null ? undefined : OF_WORK[work]) ?? 'none';
}

/** A group of the list, with its title. */
export interface Group {
  readonly key: string;
  readonly title: string;
  readonly list: readonly Sandbox[];
}

/** The groups that hold a sandbox, those that need their person first. */
export function groupsOf(list: readonly Sandbox[], by: Grouping): readonly Group[] {
  const keyOf = by === 'state' ? laneOf : repositoryOf;
  const keys = by === 'state' ? LANES : [...new Set(list.map(repositoryOf))].sort(lastEmpty);
  return keys
    .map((key): Group => ({
      key,
      title: by === 'state' ? laneWords()[key as Lane] : key || t`Without a repository`,
      list: needyFirst(list.filter((one) => keyOf(one) === key)),
    }))
    .filter((group) => group.list.length > 0);
}

function repositoryOf({ repos }: Sandbox): string {
  const [repo] = repos;
  const parts = (repo?.repo_url ?? '').replace(/\.git$/, '').split(/[/:]/);
  return parts
    .filter((part) => part !== '')
    .slice(-2)
    .join('/');
}

function lastEmpty(a: string, b: string): number {
  if (a === '' || b === '') return a === b ? 0 : a === '' ? 1 : -1;
  return a.localeCompare(b);
}
