/** Granted approvals, which can be revoked; kept fresh by the event log. */

import { api } from '../api/client';
import type { Approval } from '../api/types';
import { t } from '../language/t';
import { notify, notifyFailure } from './announce';
import { Store } from './store';

/** Newest first; null until the first answer. */
export const approvals = new Store<readonly Approval[] | null>(null);

export async function loadApprovals(): Promise<void> {
  approvals.set(await api.approvals());
}

/** Withdraws an approval. */
export async function revoke({ approval_id: id }: Pick<Approval, 'approval_id'>): Promise<void> {
  try {
    await api.revoke(id);
    approvals.set((now) => (now ?? []).filter((one) => one.approval_id !== id));
    notify(t`Revoked. What used it is cut off.`);
  } catch (reason) {
    notifyFailure(t`Not revoked`)(reason);
    await loadApprovals();
  }
}
