/** What will start, in one line: who, where, and how. Pure. */

import type { Repository } from '../../api/types';
import { t } from '../../language/t';
import { shortRepo } from '../parts/words';
import type { TaskDraft } from './draft';
import type { IssueTask } from './issues/issues';
import type { Offers } from './useComposer';

/** What the repository of a draft is called; '' where it has none. */
export function repoName(draft: TaskDraft, known: readonly Repository[]): string {
  if (draft.repo === '') return '';
  if (draft.repo === 'url') return shortRepo(draft.url.trim());
  return known.find(({ key }) => `key:${key}` === draft.repo)?.name ?? '';
}

/** `codex in a sandbox of its own · from demo · at a terminal`. */
export function planWords(draft: TaskDraft, { repositories }: Offers): string {
  if (draft.within) return withinWords(draft);
  const repo = repoName(draft, repositories);
  return [
    whoWords(draft),
    repo === '' ? t`an empty workspace` : t`a copy of ${repo}`,
    draft.bare ? '' : modeWords(draft),
    draft.bare || draft.issue === null ? '' : answerWords(draft.issue),
    draft.profile === '' ? '' : t`profile ${draft.profile.replace(/^profile\./, '')}`,
    draft.network === '' ? '' : t`network ${draft.network}`,
    draft.ttl === '' ? '' : t`lives ${draft.ttl}`,
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

function whoWords({ agents, bare }: TaskDraft): string {
  if (bare) return t`A sandbox, in which no agent starts`;
  const [first] = agents;
  if (first === undefined) return t`No agent is chosen`;
  if (agents.length === 1) return t`${first} in a sandbox of its own`;
  return t`${agents.join(', ')}, each in a sandbox and on a branch of its own`;
}

function withinWords({ agents: [agent], prompt, issue }: TaskDraft): string {
  if (agent === undefined) return t`No agent is chosen`;
  const place = t`${agent} in this dashboard’s sandbox`;
  const silent = issue === null && prompt.trim() === '';
  return silent ? `${place} · ${t`you tell it there what is to be done`}` : place;
}

function modeWords({ mode, asks }: TaskDraft): string {
  if (mode === 'tui') return asks ? t`at a terminal, asking before it acts` : t`at a terminal`;
  return asks ? t`with cards, asking before it acts` : t`with cards, without asking`;
}

function answerWords({ kind, number }: IssueTask): string {
  return kind === 'pull'
    ? t`what it pushes goes into pull request ${number}`
    : t`its pull request closes issue ${number}`;
}
