/** Snapshots of sandboxes, and forks: what is asked of the server, and which dialog is open. */

import { useEffect } from 'react';
import { call, sandboxAt } from '../api/call';
import { api } from '../api/client';
import type { Sandbox, Schemas } from '../api/types';
import { isSettled } from './acts';
import { keep } from './sandboxes';
import { Store, useStore } from './store';

export type Snapshot = Schemas['SnapshotView'];
export type Conversation = Schemas['Conversation'];
export type ForkOrder = Schemas['ForkBody'];

/** The sandbox that is copied or kept in an open dialog; null while there is none. */
export const copying = new Store<{
  readonly sandbox: string;
  readonly how: 'fork' | 'snapshots';
} | null>(null);

/** The backends that keep snapshots on this server; null until they are known. */
const keepers = new Store<readonly string[] | null>(null);

/** Whether its backend keeps snapshots, and it has a disk to keep. */
export function useMayCopy(sandbox: Sandbox): boolean {
  const names = useStore(keepers);
  useEffect(() => void learnKeepers(), []);
  const kept = names?.includes(sandbox.extension) ?? false;
  return kept && isSettled(sandbox) && sandbox.ready_at !== null;
}

/** Asks once; without an answer nothing is offered. */
async function learnKeepers(): Promise<void> {
  if (keepers.get() !== null) return;
  const backends = await api.extensions().catch(() => null);
  if (backends === null) return;
  const able = backends.filter(({ capabilities }) => capabilities?.snapshots != null);
  keepers.set(able.map(({ name }) => name));
}

export async function snapshotsOf(id: string): Promise<readonly Snapshot[]> {
  const path = `v1/snapshots?sandbox=${encodeURIComponent(id)}`;
  return ((await call('GET', path)) as Schemas['SnapshotPage']).snapshots;
}

export async function takeSnapshot(id: string, name: string | null): Promise<Snapshot> {
  return (await call('POST', `${sandboxAt(id)}/snapshots`, { name })) as Snapshot;
}

export async function removeSnapshot(id: string): Promise<void> {
  await call('DELETE', `v1/snapshots/${encodeURIComponent(id)}`);
}

/** Brings the sandbox back as the snapshot was; it is on its way then. */
export async function restoreSnapshot(id: string, snapshot: string): Promise<void> {
  keep((await call('POST', `${sandboxAt(id)}/restore`, { snapshot })) as Sandbox);
}

/** Returns the copies, which are starting. */
export async function forkSandbox(id: string, order: ForkOrder): Promise<readonly Sandbox[]> {
  const fork = (await call('POST', `${sandboxAt(id)}/fork`, order)) as Schemas['ForkView'];
  fork.sandboxes.forEach(keep);
  return fork.sandboxes;
}
