/** What may be done to a worker: stop it, and start it again. */

import { useState } from 'react';
import { workersApi, type Worker } from '../../api/workers';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { Confirm } from '../parts/Dialog';
import { UnpulledWork } from '../sandboxes/UnpulledWork';

interface WorkerActsProps {
  readonly worker: Worker;
  /** Something was done: it is to be looked at again. */
  readonly onDone: () => void;
}

export function WorkerActs({ worker, onDone }: WorkerActsProps) {
  const [asks, setAsks] = useState(false);
  const [busy, setBusy] = useState(false);
  const { worker_id: id, status, heartbeat_state: heart } = worker;
  const ended = status === 'stopped' || status === 'failed';

  function act(doIt: () => Promise<unknown>, failed: string): void {
    setBusy(true);
    doIt()
      .catch(notifyFailure(failed))
      .finally(() => {
        setBusy(false);
        onDone();
      });
  }

  return (
    <div className="worker-acts">
      {(ended || heart === 'missing') && (
        <button
          type="button"
          className="button button-small"
          disabled={busy}
          onClick={() => act(() => workersApi.again(id), t`${id} was not started`)}
        >
          {t`Start again`}
        </button>
      )}
      {!ended && (
        <button
          type="button"
          className="button button-small button-stop"
          disabled={busy || status === 'stopping'}
          onClick={() => setAsks(true)}
        >
          {t`Stop`}
        </button>
      )}
      {asks && (
        <Confirm
          title={t`Stop ${id}?`}
          action={t`Stop it`}
          danger
          onClose={() => setAsks(false)}
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
