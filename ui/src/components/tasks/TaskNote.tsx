/** What keeps the task of a sandbox from being at work. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';

export function TaskNote({ sandbox }: { readonly sandbox: Sandbox }) {
  const { task } = sandbox;
  if (task === null) return null;
  return (
    <>
      {task.state === 'queued' && (
        <p className="reason" role="status">
          {t`${(<strong>{t`It waits for a place.`}</strong>)} ${task.before} before it. It starts when another task is done.`}
        </p>
      )}
      {task.state === 'failed' && (
        <p className="reason reason-failed" role="alert">
          <strong>{t`The task was not started.`}</strong> {task.reason}
        </p>
      )}
    </>
  );
}
