/** The set-up of a sandbox's project: that it runs, or why it failed; and the task behind it. */

import { Problem } from '../../api/call';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { useRights } from '../../state/team/useRights';
import { beginTask, runSetup } from '../../state/tasks/project';

export function SetupNote({ sandbox }: { readonly sandbox: Sandbox }) {
  const { project, task, state } = sandbox;
  if (project === null || project.state === 'none' || project.state === 'done') return null;
  const up = state === 'ready' || state === 'active';
  const waits = up && task?.state === 'waiting';
  if (project.state !== 'running') return <Unsettled sandbox={sandbox} up={up} waits={waits} />;
  return up ? (
    <p className="setup-note" role="status">
      {t`The set-up runs in the terminal ${(<code>setup</code>)}.`}
      {waits && ` ${t`The task begins once it has succeeded.`}`}
    </p>
  ) : null;
}

interface UnsettledProps {
  readonly sandbox: Sandbox;
  readonly up: boolean;
  readonly waits: boolean;
}

/** A set-up that failed, or that has not run. */
function Unsettled({ sandbox, up, waits }: UnsettledProps) {
  const { project, sandbox_id: id } = sandbox;
  const { manages } = useRights(id);
  const failed = project?.state === 'failed';
  return (
    <p className="setup-note" role={failed ? 'alert' : 'status'}>
      <strong>{failed ? t`The set-up failed.` : t`The set-up has not run.`}</strong>{' '}
      {project?.reason} {waits && `${t`The task waits.`} `}
      {manages && up && (
        <Act words={failed ? t`Run it again` : t`Run it`} act={() => runSetup(id)} />
      )}{' '}
      {manages && waits && <Act words={t`Start the task anyway`} act={() => beginTask(id)} />}
    </p>
  );
}

function Act({ words, act }: { readonly words: string; readonly act: () => Promise<void> }) {
  return (
    <button type="button" className="button button-small" onClick={() => void attempt(act)}>
      {words}
    </button>
  );
}

async function attempt(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (reason) {
    if (!(reason instanceof Problem)) throw reason;
    notify(reason.message, 'bad');
  }
}
