/** What stands where a sandbox's files would be, while there are none to read. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import type { panelOf } from '../parts/TabList';

/** Why there are no files to read; null where they can be asked for. */
export function noFilesWords({ state, ready_at: readyAt }: Sandbox): string | null {
  switch (state) {
    case 'requested':
    case 'provisioning':
      return t`It is being started. Its files show here as soon as it is ready.`;
    case 'failed':
      return readyAt === null ? t`It failed before it had files. Its log says why.` : null;
    case 'destroying':
    case 'destroyed':
      return t`It is being destroyed, with its files.`;
    case 'ready':
    case 'active':
    case 'stopped':
    case 'expired':
      return null;
  }
}

interface NoFilesProps {
  readonly words: string;
  /** What it is within a row of tabs. */
  readonly panel?: ReturnType<typeof panelOf>;
}

export function NoFiles({ words, panel }: NoFilesProps) {
  return (
    <div className="no-files" {...panel}>
      <p className="quiet" role="status">
        {words}
      </p>
    </div>
  );
}
