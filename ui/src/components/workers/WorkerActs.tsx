/** What may be done to a worker: stop it, start it again, take its conversation and give it back. */

import { useState } from 'react';
import { desktopOf, removalOf, workersApi, type Worker } from '../../api/workers';
import { t, worded } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { go } from '../../state/route';
import { Confirm } from '../parts/Dialog';
import { UnpulledWork } from '../sandboxes/UnpulledWork';

interface WorkerActsProps {
  readonly worker: Worker;
  /** Something was done: it is to be looked at again. */
  readonly onDone: () => void;
}

export function WorkerActs({ worker, onDone }: WorkerActsProps) {
  const [asks, setAsks] = useState<'stop' | 'take' | null>(null);
  const [busy, setBusy] = useState(false);
  const { worker_id: id } = worker;
  const close = (): void => setAsks(null);

  function act(doIt: () => Promise<unknown>, failed: string): void {
    setBusy(true);
    doIt()
      .catch(notifyFailure(failed))
      .finally(() => {
        setBusy(false);
        onDone();
      });
  }

  async function take(): Promise<void> {
    const { sandbox_id: sandbox, terminal_id: terminal } = await workersApi.take(id, null);
    go(sandbox, terminal);
  }

  const run: Readonly<Record<WorkerAct, () => void>> = {
    again: () => act(() => workersApi.again(id), t`${id} was not started`),
    take: () => setAsks('take'),
    open: () => act(take, t`Its terminal was not opened`),
    give: () => act(() => workersApi.giveBack(id), t`The conversation was not given back`),
    stop: () => setAsks('stop'),
  };
  return (
    <div className="worker-acts">
      {actsOf(worker).map((one) => (
        <button
          key={one}
          type="button"
          className={`button button-small button-${one}`}
          disabled={busy || worker.status === 'stopping'}
          onClick={run[one]}
        >
          {WORDS()[one]}
        </button>
      ))}
      {asks === 'take' && (
        <Confirm
          title={t`Take over ${id}?`}
          action={t`Take over`}
          onClose={close}
          onConfirm={() => act(take, t`${id} was not taken over`)}
        >
          <p>
            {t`Its newest conversation goes on in a terminal, where you type. A turn that runs is interrupted. Until you give it back, it takes no prompts.`}
          </p>
        </Confirm>
      )}
      {asks === 'stop' && (
        <Confirm
          title={t`Stop ${id}?`}
          action={t`Stop it`}
          danger
          onClose={close}
          onConfirm={() => act(() => workersApi.stop(id), t`${id} was not stopped`)}
        >
          <p>{consequences(worker)}</p>
          {isRemoved(worker) && worker.sandbox !== null && (
            <UnpulledWork sandboxId={worker.sandbox.id} />
          )}
        </Confirm>
      )}
    </div>
  );
}

type WorkerAct = 'again' | 'take' | 'open' | 'give' | 'stop';

const WORDS = worded<Readonly<Record<WorkerAct, string>>>(() => ({
  again: t`Start again`,
  take: t`Take over`,
  open: t`Open its terminal`,
  give: t`Give back`,
  stop: t`Stop`,
}));

/** What may be done to a worker in its state. */
function actsOf(worker: Worker): WorkerAct[] {
  const { status, heartbeat_state: heart, held_by_person: held } = worker;
  if (status === 'stopped' || status === 'failed') {
    // One whose sandbox was removed never starts again.
    return removalOf(worker) === null ? ['again'] : [];
  }
  // The page opens no terminal on a person's own machine.
  const opens = desktopOf(worker) === null;
  if (held) return opens ? ['open', 'give', 'stop'] : ['give', 'stop'];
  if (heart === 'missing') return ['again', 'stop'];
  return status === 'running' && opens ? ['take', 'stop'] : ['stop'];
}

/** Whether a stop removes its sandbox at once: not one that it only moved into. */
function isRemoved({ teardown, workspace_ref: moved }: Worker): boolean {
  return teardown.policy === 'immediate' && moved === null;
}

function consequences(worker: Worker): string {
  if (worker.workspace_ref !== null) {
    return t`Its agent ends. The sandbox that it works in stays as it is.`;
  }
  if (isRemoved(worker)) {
    return t`Its agent ends, and its sandbox is removed at once with what is in it.`;
  }
  return t`Its agent ends. Its files and its conversation are kept for ${worker.teardown.retain_for}, and until then it can be started again.`;
}
