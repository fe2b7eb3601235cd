/** Pending and granted approvals; kept fresh by the event log. */

import { api } from '../api/client';
import type { Approval, Reach } from '../api/types';
import { announce, notify, notifyFailure } from './announce';
import { Store } from './store';

/** Pending and granted ones, newest first; null until the first answer. */
export const approvals = new Store<readonly Approval[] | null>(null);

export async function loadApprovals(): Promise<void> {
  const before = new Set((approvals.get() ?? []).map(({ approval_id: id }) => id));
  const now = await api.approvals();
  const fresh = now.filter(({ approval_id: id, state }) => state === 'pending' && !before.has(id));
  approvals.set(now);
  if (fresh[0] !== undefined) announce(`${fresh[0].sandbox_name} needs your approval.`);
}

/** Approves exactly what is shown. */
export async function approve(approval: Approval, reach: Reach): Promise<void> {
  try {
    keep(await api.approve(approval, reach));
    notify('Approved.');
  } catch (reason) {
    notifyFailure('Not approved')(reason);
    await loadApprovals();
  }
}

/** Denies a request, or withdraws an approval. */
export async function decide(approval: Approval, verb: 'deny' | 'revoke'): Promise<void> {
  try {
    keep(await api.decide(approval, verb));
    notify(verb === 'deny' ? 'Denied.' : 'Revoked. What used it is cut off.');
  } catch (reason) {
    notifyFailure(verb === 'deny' ? 'Not denied' : 'Not revoked')(reason);
    await loadApprovals();
  }
}

function keep(decided: Approval): void {
  const shown = decided.state === 'pending' || decided.state === 'granted';
  approvals.set((now) =>
    (now ?? []).flatMap((one) => {
      if (one.approval_id !== decided.approval_id) return [one];
      return shown ? [decided] : [];
    }),
  );
}
