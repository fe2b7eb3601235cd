/** Gives a terminal another name, which everybody sees on its tab. */

import { useState } from 'react';
import type { Terminal } from '../../api/types';
import { t } from '../../language/t';
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
    <Dialog title={t`Rename this terminal`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === '') return;
          void changeTerminal(sandboxId, terminal.terminal_id, { name: name.trim() });
          onClose();
        }}
      >
        <Field label={t`Name`} trouble={name.trim() === '' ? t`Give it a name.` : null}>
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
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-primary">
            {t`Rename`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
