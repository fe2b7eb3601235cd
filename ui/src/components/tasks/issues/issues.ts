/** Issues and pull requests as tasks: their addresses, and their words with a person's own. */

import { call } from '../../../api/call';
import type { Repository, Schemas } from '../../../api/types';
import type { Source } from '../../../state/tasks/choices';

/** An issue or a pull request, and the task that it is. Others wrote its title and words. */
export type IssueTask = Schemas['IssueView'];

const ADDRESS =
  /^https:\/\/[^\s/]+(?:\/[^\s/]+){2,}\/(?:issues|pulls?)\/[1-9]\d{0,9}(?:[/?#]\S*)?$/;

/** The address that a text is, as a whole; null for any other text. */
export function issueAddress(text: string): string | null {
  const trimmed = text.trim();
  return ADDRESS.test(trimmed) ? trimmed : null;
}

export function findIssue(address: string): Promise<IssueTask> {
  const query = new URLSearchParams({ address }).toString();
  return call('GET', `v1/forges/issues?${query}`) as Promise<IssueTask>;
}

/** The repository of an issue: one that is here, else its address. */
export function sourceOf({ repo_url }: IssueTask, known: readonly Repository[]): Source {
  const here = known.find((one) => one.repo_url === repo_url);
  return here === undefined ? { repo: 'url', url: repo_url } : { repo: `key:${here.key}`, url: '' };
}

/** What an agent is told: a person's own words, then those of the issue. */
export function wordsWith(issue: IssueTask | null, prompt: string): string {
  if (issue === null) return prompt;
  const own = prompt.trim();
  return own === '' ? issue.prompt : `${own}\n\n${issue.prompt}`;
}
