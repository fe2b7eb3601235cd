/** Where a branch that somebody typed begins, by what the server has of its repository. Pure. */

import type { Schemas } from '../../api/types';
import { t } from '../../language/t';

/** Branches and tags; the branch HEAD stands for comes first. */
export type Refs = Schemas['RepositoryWithRefs']['refs'];

/** What somebody typed. */
export interface TypedBranch {
  readonly branch: string;
  readonly from: string;
}

/** Where a repository of a draft is: `key` of one that is here, else an address. */
export interface RepositoryPlace {
  readonly key: string | null;
  readonly address: string;
}

/** The key of a checkout that was sent here. */
const LOCAL = /^[0-9a-f]{16,64}$/;

/** Whether it is a checkout that somebody sent here, which the server cannot fetch. */
export function isSent({ key }: RepositoryPlace): boolean {
  return key !== null && LOCAL.test(key);
}

/** The commit of a branch; null where there is none. */
export function tipOf(refs: Refs, branch: string): string | null {
  return refs.find(({ name }) => name === `refs/heads/${branch}`)?.commit ?? null;
}

/** Where the branch begins, in words; null where nobody typed one. */
export function beginningWords(
  refs: Refs,
  typed: TypedBranch,
  place: RepositoryPlace,
): string | null {
  const [branch, from] = [typed.branch.trim(), typed.from.trim()];
  if (branch === '') return null;
  const tip = tipOf(refs, branch);
  if (from !== '')
    return tip === null || from === branch
      ? null
      : t`${branch} is there already; this one begins at ${from} all the same`;
  if (tip !== null) return t`Goes on from ${branch} at ${short(tip)}`;
  const head = refs.find(({ name }) => name.startsWith(HEADS));
  if (head === undefined) return null;
  const begins = t`New: it begins at ${head.name.slice(HEADS.length)} (${short(head.commit)})`;
  return isSent(place) ? `${begins}. ${sendWords(branch)}` : begins;
}

const HEADS = 'refs/heads/';

function short(commit: string): string {
  return commit.slice(0, 12);
}

function sendWords(branch: string): string {
  return t`If your checkout has it, send it first: atoll new . ${branch}`;
}
