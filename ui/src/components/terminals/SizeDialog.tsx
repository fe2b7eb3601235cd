/** Gives a terminal a fixed size, which no driver's window changes, or lets it follow them again. */

import { useState } from 'react';
import { t } from '../../language/t';
import { changeTerminal } from '../../state/acts';
import type { AttachStatus } from '../../terminal/attach/status';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';

interface SizeDialogProps {
  readonly sandboxId: string;
  readonly terminalId: string;
  readonly status: AttachStatus;
  readonly onClose: () => void;
}

export function SizeDialog({ sandboxId, terminalId, status, onClose }: SizeDialogProps) {
  const [cols, setCols] = useState(String(status.cols));
  const [rows, setRows] = useState(String(status.rows));
  const side = (label: string, value: string, set: (value: string) => void, most: number) => (
    <Field label={label} trouble={null}>
      {(wiring) => (
        <input
          {...wiring}
          type="number"
          required
          min={label === 'Columns' ? 2 : 1}
          max={most}
          value={value}
          onChange={(event) => set(event.target.value)}
        />
      )}
    </Field>
  );
  return (
    <Dialog title={t`Size of this terminal`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          const size = { cols: Number(cols), rows: Number(rows) };
          void changeTerminal(sandboxId, terminalId, { fixed: true, ...size });
          onClose();
        }}
      >
        <p>
          {t`A terminal has the size of its driver’s window. A fixed one keeps its size, whoever drives; other windows show it with a frame.`}
        </p>
        {side(t`Columns`, cols, setCols, 1000)}
        {side(t`Rows`, rows, setRows, 500)}
        <div className="dialog-foot">
          {status.fixed && (
            <button
              type="button"
              className="button"
              onClick={() => {
                void changeTerminal(sandboxId, terminalId, { fixed: false });
                onClose();
              }}
            >
              {t`Follow the driver`}
            </button>
          )}
          <button type="submit" className="button button-primary">
            {t`Fix this size`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
