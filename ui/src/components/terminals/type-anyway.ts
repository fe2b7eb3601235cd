/** One key for whoever may: an owner types on although the agent works. */

import { api } from '../../api/client';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import type { AttachStatus } from '../../terminal/attach/status';
import { mayUnlock } from '../../terminal/attach/turns';

export async function typeAnyway(
  sandboxId: string,
  terminalId: string,
  status: AttachStatus | null,
): Promise<void> {
  if (status === null || !mayUnlock(status)) return;
  try {
    await api.actOnAgent(sandboxId, terminalId, 'unlock');
  } catch (reason) {
    notifyFailure(t`Typing stays off`)(reason);
  }
}
