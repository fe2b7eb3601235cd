/** The ways between a sandbox's files and its person's Drive, in the toolbar of the files. */

import { useState } from 'react';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { visible } from '../../unseen';
import { DriveDialog } from './DriveDialog';
import { drives } from './drive';

interface DriveToolsProps {
  readonly sandbox: string;
  /** Whether files may come in: the sandbox runs, and its person changes files there. */
  readonly acts: boolean;
  /** The directory that a file comes to. */
  readonly folder: string;
  /** The file that the keyboard is at; null for none, or one whose name is not UTF-8. */
  readonly file: string | null;
  readonly onBrought: () => void;
}

export function DriveTools({ sandbox, acts, folder, file, onBrought }: DriveToolsProps) {
  const [open, setOpen] = useState(false);
  const [sending, setSending] = useState(false);

  async function send(path: string): Promise<void> {
    setSending(true);
    try {
      const made = await drives.send(sandbox, { path, folder: 'root', secrets: 'refuse' });
      notify(t`${visible(made.name)} is in your Drive.`);
    } catch (reason) {
      notifyFailure(t`Not sent to Drive`)(reason);
    } finally {
      setSending(false);
    }
  }

  return (
    <>
      {acts && (
        <button type="button" className="button button-small" onClick={() => setOpen(true)}>
          {t`From Drive…`}
        </button>
      )}
      {file !== null && (
        <button
          type="button"
          className="button button-small"
          disabled={sending}
          onClick={() => void send(file)}
        >
          {sending ? t`Sending…` : t`To Drive`}
        </button>
      )}
      {open && <DriveDialog {...{ sandbox, folder, onBrought }} onClose={() => setOpen(false)} />}
    </>
  );
}
