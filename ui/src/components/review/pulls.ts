/** The calls of pull requests, and their comments as comments for the agent. */

import { call, sandboxAt } from '../../api/call';
import type { Schemas } from '../../api/types';
import { t } from '../../language/t';
import { threads } from './threads';

export type Pull = Schemas['PullRequestView'];
export type DiscussedPull = Schemas['DiscussedPullView'];
export type ForgeComment = Schemas['ForgeCommentView'];
export type NewPull = Schemas['PullRequestBody'];

/** A branch of one of a sandbox's repositories. */
export interface BranchPlace {
  readonly sandbox: string;
  readonly repo: number;
  readonly branch: string;
}

function queryOf({ repo, branch }: BranchPlace): string {
  return new URLSearchParams({ repo: String(repo), branch }).toString();
}

export const pulls = {
  /** The newest pull request of a branch with its discussion; null where there is none. */
  async newest(at: BranchPlace): Promise<DiscussedPull | null> {
    const place = `${sandboxAt(at.sandbox)}/pull-requests`;
    const found = (await call('GET', `${place}?${queryOf(at)}`)) as Schemas['PullRequestList'];
    const first = found.pull_requests[0];
    if (first === undefined) return null;
    return call('GET', `${place}/${first.number}?${queryOf(at)}`) as Promise<DiscussedPull>;
  },
  open(sandbox: string, body: NewPull): Promise<Pull> {
    return call('POST', `${sandboxAt(sandbox)}/pull-requests`, body) as Promise<Pull>;
  },
  async branches(sandbox: string, repo: number): Promise<readonly string[]> {
    const found = await call('GET', `${sandboxAt(sandbox)}/forge-branches?repo=${repo}`);
    return (found as Schemas['ForgeNames']).names;
  },
};

/** Opens a thread about a comment of a branch's pull request. Returns whether that succeeded. Its
 *  text names its line: the file may have other lines by now. */
export function collect(
  { sandbox, repo }: BranchPlace,
  { path, line, text, author }: ForgeComment,
): Promise<boolean> {
  const said =
    line === null || path === null
      ? t`${author} wrote on the pull request: ${text}`
      : t`${author} wrote on the pull request, at line ${line}: ${text}`;
  const place = { repo, path: path ?? '', side: 'new', line: 0, lines: [] } as const;
  return threads.open(sandbox, place, said);
}
