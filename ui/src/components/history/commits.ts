/** The calls of a history. */

import { call, sandboxAt } from '../../api/call';
import type { Schemas } from '../../api/types';

export type CommitPage = Schemas['CommitPage'];
export type Commit = Schemas['CommitView'];
export type ShownCommit = Schemas['ShownCommitView'];
export type Ref = Schemas['CommitRef'];

export const commits = {
  list(id: string, repo: number, cursor: string): Promise<CommitPage> {
    const query = new URLSearchParams({ repo: String(repo), cursor });
    return call('GET', `${sandboxAt(id)}/commits?${query}`) as Promise<CommitPage>;
  },
  show(id: string, repo: number, commit: string): Promise<ShownCommit> {
    const path = `${sandboxAt(id)}/commits/${encodeURIComponent(commit)}?repo=${repo}`;
    return call('GET', path) as Promise<ShownCommit>;
  },
};
