/** Bringing work home: pull orders, held pushes, and syncs of one sandbox. */

import { call, downloadBytes, sandboxAt } from '../../api/call';
import type { Schemas } from '../../api/types';

export type PullOrder = Schemas['PullView'];
export type HeldPush = Schemas['PushView'];
export type Sync = Schemas['SyncView'];

/** What the pull form asks for. */
export interface PullWish {
  readonly repo: number;
  readonly branch: string;
  readonly into: string;
  readonly uncommitted: boolean;
}

export async function pullsOf(id: string): Promise<Schemas['PullList']> {
  return (await call('GET', `${sandboxAt(id)}/pulls`)) as Schemas['PullList'];
}

export async function pushesOf(id: string): Promise<readonly HeldPush[]> {
  return ((await call('GET', `${sandboxAt(id)}/pushes`)) as Schemas['PushList']).pushes;
}

export function orderPull(id: string, wish: PullWish): Promise<PullOrder> {
  const { repo, branch, into, uncommitted } = wish;
  return call('POST', `${sandboxAt(id)}/pulls`, {
    repo,
    uncommitted,
    ...(branch === '' ? {} : { branch }),
    ...(into === '' ? {} : { into }),
  }) as Promise<PullOrder>;
}

export function orderHeld(id: string, { repo, branch, commit }: HeldPush): Promise<PullOrder> {
  return call('POST', `${sandboxAt(id)}/pulls`, {
    repo,
    branch,
    pushed: true,
    expects: commit,
  }) as Promise<PullOrder>;
}

export async function cancelPull({ order_id: id }: PullOrder): Promise<void> {
  await call('DELETE', `v1/pulls/${encodeURIComponent(id)}`);
}

export async function dropHeld({ kept_id: kept }: HeldPush): Promise<void> {
  await call('DELETE', `v1/kept/${encodeURIComponent(kept)}`);
}

/** The commits of a branch as a git bundle. */
export function bundleOf(id: string, wish: PullWish): Promise<Blob> {
  const query = new URLSearchParams({ repo: String(wish.repo) });
  if (wish.branch !== '') query.set('branch', wish.branch);
  if (wish.uncommitted) query.set('uncommitted', 'true');
  return downloadBytes(`${sandboxAt(id)}/bundle?${query.toString()}`);
}

export function syncWith(id: string, body: Schemas['SyncBody']): Promise<Sync> {
  return call('POST', `${sandboxAt(id)}/sync`, body) as Promise<Sync>;
}

/** The command that does on a terminal what the form asks for. Pure. */
export function pullCommand(name: string, wish: PullWish): string {
  return [
    'atoll pull',
    name,
    quoted(wish.into),
    wish.branch === '' ? '' : `--from ${quoted(wish.branch)}`,
    wish.repo === 0 ? '' : `--repo ${wish.repo}`,
    wish.uncommitted ? '--uncommitted' : '',
  ]
    .filter((word) => word !== '')
    .join(' ');
}

/** A word as a shell takes it: names come from inside. Pure. */
export function quoted(word: string): string {
  return word === '' || /^[\w@%+=:,./-]+$/u.test(word)
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}
