/** What is done with the work in a sandbox: review it, merge it, archive it, and end a conflict. */

import { call, sandboxAt } from '../../api/call';
import type { Sandbox, Schemas } from '../../api/types';
import { t, worded } from '../../language/t';
import { comesHome, isLive, isSettled } from '../acts';
import { notify, notifyFailure } from '../announce';
import { agentsOf } from '../attention/agents';
import { go, route } from '../route';
import { keep } from '../sandboxes';
import { workStateOf } from '../standing';
import { Store } from '../store';

export type MergeOrder = Schemas['MergeBody'];
export type MergeResult = Schemas['MergeResultView'];
export type WorkAct = 'review' | 'unreview' | 'merge' | 'archive' | 'revive';

export const workActWords = worded<Readonly<Record<WorkAct, string>>>(() => ({
  review: t`Mark as reviewed`,
  unreview: t`Not reviewed yet`,
  merge: t`Merge…`,
  archive: t`Archive`,
  revive: t`Revive`,
}));

/** What the merge dialog is about; null while it is closed. */
export const merging = new Store<{ readonly sandbox: string; readonly repo: number } | null>(null);

/** States of work that may be merged. */
const MERGED_FROM: readonly Schemas['WorkState'][] = [
  'working',
  'needs_you',
  'to_review',
  'reviewed',
  'pr_open',
];

function hasChanged({ work }: Sandbox): boolean {
  return (work?.mark ?? '') !== '';
}

/** Whether its changes may be merged, also those that are not counted yet. */
export function mayMerge(sandbox: Sandbox): boolean {
  const stands = workStateOf(sandbox);
  if (stands === null || !MERGED_FROM.includes(stands)) return false;
  return isLive(sandbox) && comesHome(sandbox);
}

const ALLOWED: Readonly<Record<WorkAct, (sandbox: Sandbox) => boolean>> = {
  review: (one) => workStateOf(one) === 'to_review' && hasChanged(one),
  unreview: (one) => workStateOf(one) === 'reviewed',
  merge: (one) => hasChanged(one) && mayMerge(one),
  archive: isSettled,
  revive: () => false,
};
const ALL = Object.keys(ALLOWED) as readonly WorkAct[];

/** What may be done with its work now, in the order of the entries. */
export function workActsOf(sandbox: Sandbox): readonly WorkAct[] {
  if (sandbox.archived_at != null) return ['revive'];
  return ALL.filter((act) => ALLOWED[act](sandbox));
}

/** Does it, or says why not; a merge opens its dialog. */
export async function doWork(sandbox: Sandbox, act: WorkAct): Promise<void> {
  const { sandbox_id: id, name } = sandbox;
  if (act === 'merge') {
    merging.set({ sandbox: id, repo: 0 });
    return;
  }
  try {
    keep(await requestOf(sandbox, act));
    if (act === 'archive') tellArchived(sandbox);
  } catch (reason) {
    notifyFailure(t`“${workActWords()[act]}” failed for ${name}`)(reason);
  }
}

async function requestOf(
  { sandbox_id: id, work }: Sandbox,
  act: Exclude<WorkAct, 'merge'>,
): Promise<Sandbox> {
  if (act === 'archive' || act === 'revive') {
    return (await call('POST', `${sandboxAt(id)}/${act}`)) as Sandbox;
  }
  const reviewed = act === 'review';
  const body: Schemas['ReviewBody'] = { mark: reviewed ? (work?.mark ?? null) : null, reviewed };
  return (await call('POST', `${sandboxAt(id)}/review`, body)) as Sandbox;
}

/** It leaves the rail, and the page where it is shown. */
function tellArchived(sandbox: Sandbox): void {
  const { sandbox_id: id, name } = sandbox;
  if ([id, name].includes(route.get().sandbox ?? '')) go(null);
  notify(t`${name} is archived: home and the search find it.`, 'plain', {
    words: t`Undo`,
    run: () => void doWork(sandbox, 'revive'),
  });
}

export async function mergeWork(id: string, order: MergeOrder): Promise<MergeResult> {
  return (await call('POST', `${sandboxAt(id)}/merge`, order)) as MergeResult;
}

/** The name of an agent that could resolve a conflict; null where none runs. */
export function resolverOf(sandbox: Sandbox): string | null {
  return agentsOf(sandbox).find(({ status }) => status.status !== 'stopped')?.agent ?? null;
}
