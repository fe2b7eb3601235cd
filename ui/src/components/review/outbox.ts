/** Sends collected comments: now, or by itself when the agent's turn ends. */

import { api } from '../../api/client';
import type { SandboxAgent } from '../../api/types';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { agentsOf } from '../../state/attention/agents';
import { sandboxes } from '../../state/sandboxes';
import { team } from '../../state/team/team';
import {
  collectedOf,
  comments,
  forgetComments,
  isCommentKey,
  promptOf,
  queueComments,
  removeComments,
  restoreComments,
} from './comments';

/** What becomes of comments that are kept for an agent. One that is not known may come back. */
export function fateOf(agent: SandboxAgent | undefined): 'wait' | 'send' | 'release' {
  switch (agent?.status.status) {
    case undefined:
    case 'working':
    case 'needs_you':
      return 'wait';
    case 'done':
    case 'idle':
    case 'failed':
      return 'send';
    case 'stopped':
      return 'release';
  }
}

/** Sends all comments of a sandbox to an agent; those that fail to arrive stay. */
export async function sendComments(
  sandbox: string,
  agent: { readonly id: string; readonly agent: string },
): Promise<void> {
  const { list } = collectedOf(comments.get(), sandbox);
  queueComments(sandbox, null);
  try {
    await api.ask(sandbox, agent.id, promptOf(list));
    removeComments(sandbox, list);
    notify(t`The comments were sent to ${agent.agent}.`);
  } catch (reason) {
    notifyFailure(t`The comments were not sent, and are kept`)(reason);
  }
}

/** Watches the agents for which comments are kept, until the returned function is called. */
export function followComments(): () => void {
  const onStorage = ({ key }: StorageEvent): void => {
    if (isCommentKey(key)) restoreComments();
  };
  restoreComments();
  window.addEventListener('storage', onStorage);
  const stops = [sandboxes.subscribe(look), comments.subscribe(look)];
  look();
  return () => {
    window.removeEventListener('storage', onStorage);
    for (const stop of stops) stop();
  };
}

function look(): void {
  const list = sandboxes.get();
  if (list === null) return;
  const known = new Set(list.map((one) => one.sandbox_id));
  // Those of another organization's sandboxes wait until their person is back there.
  if ((team.get()?.all.length ?? 1) === 1) forgetComments(known);
  for (const sandbox of list) {
    const id = sandbox.sandbox_id;
    const { queuedFor } = collectedOf(comments.get(), id);
    if (queuedFor === null) continue;
    const agent = agentsOf(sandbox).find((one) => one.id === queuedFor);
    const fate = fateOf(agent);
    if (fate === 'release') {
      queueComments(id, null);
      notify(
        t`${sandbox.name}: the agent ended before it got your comments. They are kept.`,
        'bad',
      );
    } else if (fate === 'send' && agent !== undefined) void sendOnce(id, agent);
  }
}

const sending = new Set<string>();

/** Sends what is queued, from one of this person's tabs only. */
async function sendOnce(id: string, agent: SandboxAgent): Promise<void> {
  if (sending.has(id)) return;
  sending.add(id);
  try {
    await alone(`atoll.comments.${id}`, async () => {
      restoreComments();
      if (collectedOf(comments.get(), id).queuedFor === agent.id) await sendComments(id, agent);
    });
  } finally {
    sending.delete(id);
  }
}

/** Runs `work` unless another tab is at it; browsers have locks on secure pages only. */
async function alone(name: string, work: () => Promise<void>): Promise<void> {
  const locks = (navigator as { readonly locks?: LockManager }).locks;
  if (locks === undefined) return work();
  await locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock !== null) await work();
  });
}
