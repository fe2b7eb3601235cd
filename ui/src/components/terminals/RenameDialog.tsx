/** Gives a terminal another name, which everybody sees on its tab. */

import { useState } from 'react';
import type { Terminal } from '../../api/types';
import { changeTerminal } from '../../state/acts';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';

interface RenameDialogProps {
  readonly sandboxId: string;
  readonly terminal: Terminal;
  readonly onClose: () => void;
}

const NAME_MAX = 128;

export function RenameDialog({ sandboxId, terminal, onClose }: RenameDialogProps) {
  const [name, setName] = useState(terminal.name);
  return (
    <Dialog title="Rename this terminal" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === '') return;
          void changeTerminal(sandboxId, terminal.terminal_id, { name: name.trim() });
          onClose();
        }}
      >
        <Field label="Name" trouble={name.trim() === '' ? 'Give it a name.' : null}>
          {(wiring) => (
            <input
              {...wiring}
              data-first-focus
              maxLength={NAME_MAX}
              value={name}
              onChange={(event) => setName(event.target.value)}
              onFocus={(event) => event.target.select()}
            />
          )}
        </Field>
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button button-primary">
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}
