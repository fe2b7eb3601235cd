/** The set-up of a sandbox's project: that it runs, or why it failed. */

import { Problem } from '../../api/call';
import type { Sandbox } from '../../api/types';
import { notify } from '../../state/announce';
import { runSetup } from '../../state/project';

export function SetupNote({ sandbox }: { readonly sandbox: Sandbox }) {
  const { project } = sandbox;
  if (project === null || project.state === 'none' || project.state === 'done') return null;
  const up = sandbox.state === 'ready' || sandbox.state === 'active';
  if (project.state === 'running') {
    return up ? (
      <p className="setup-note" role="status">
        The set-up runs in the terminal <code>setup</code>.
      </p>
    ) : null;
  }
  const failed = project.state === 'failed';
  return (
    <p className="setup-note" role={failed ? 'alert' : 'status'}>
      <strong>{failed ? 'The set-up failed.' : 'The set-up has not run.'}</strong> {project.reason}{' '}
      {up && (
        <button
          type="button"
          className="button button-small"
          onClick={() => void begin(sandbox.sandbox_id)}
        >
          {failed ? 'Run it again' : 'Run it'}
        </button>
      )}
    </p>
  );
}

async function begin(id: string): Promise<void> {
  try {
    await runSetup(id);
  } catch (reason) {
    if (!(reason instanceof Problem)) throw reason;
    notify(reason.message, 'bad');
  }
}
