/** Sends review threads to an agent: now, or by itself when the agent's turn ends. */

import { Problem } from '../../api/call';
import type { SandboxAgent } from '../../api/types';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { agentsOf } from '../../state/attention/agents';
import { sandboxes } from '../../state/sandboxes';
import { team } from '../../state/team/team';
import { isQueueKey, queued, queueThreads, restoreQueue } from './queue';
import { listThreads, threads, type ReviewThread } from './threads';

/** What becomes of threads that are kept for an agent. One that is not known may come back. */
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

/** Sends threads to an agent; those that fail to arrive stay unsent. */
export async function sendThreads(
  sandbox: string,
  agent: { readonly id: string; readonly agent: string },
  list: readonly ReviewThread[],
): Promise<void> {
  queueThreads(sandbox, null);
  try {
    await threads.send(sandbox, agent.id, list.slice(0, MAX_SENT));
    notify(t`The comments were sent to ${agent.agent}.`);
  } catch (reason) {
    // Another page, or another person, was faster.
    if (reason instanceof Problem && reason.code === 'nothing_to_send') return;
    notifyFailure(t`The comments were not sent, and are kept`)(reason);
  }
}

/** The most threads that one request sends. */
const MAX_SENT = 100;

/** Watches the agents for which threads are kept, until the returned function is called. */
export function followQueue(): () => void {
  const onStorage = ({ key }: StorageEvent): void => {
    if (isQueueKey(key)) restoreQueue();
  };
  restoreQueue();
  window.addEventListener('storage', onStorage);
  const stops = [sandboxes.subscribe(look), queued.subscribe(look)];
  look();
  return () => {
    window.removeEventListener('storage', onStorage);
    for (const stop of stops) stop();
  };
}

function look(): void {
  const list = sandboxes.get();
  if (list === null) return;
  const known = new Map(list.map((one) => [one.sandbox_id, one]));
  for (const [id, kept] of Object.entries(queued.get())) {
    const sandbox = known.get(id);
    if (sandbox === undefined) {
      // Those of another organization's sandboxes wait until their person is back there.
      if ((team.get()?.all.length ?? 1) === 1) queueThreads(id, null);
      continue;
    }
    const agent = agentsOf(sandbox).find((one) => one.id === kept);
    const fate = fateOf(agent);
    if (fate === 'release') {
      queueThreads(id, null);
      notify(
        t`${sandbox.name}: the agent ended before it got your comments. They are kept.`,
        'bad',
      );
    } else if (fate === 'send' && agent !== undefined) void sendQueued(id, agent);
  }
}

async function sendQueued(id: string, agent: SandboxAgent): Promise<void> {
  queueThreads(id, null);
  try {
    const unsent = (await listThreads(id)).filter((one) => one.unsent);
    if (unsent.length > 0) await sendThreads(id, agent, unsent);
  } catch (reason) {
    notifyFailure(t`The comments were not sent, and are kept`)(reason);
  }
}
