/** Asks before an act that ends something, saying what will end. */

import { useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { actWords, perform, type Act } from '../../state/acts';
import { Confirm } from '../parts/Dialog';
import { UnpulledWork } from '../sandboxes/UnpulledWork';

interface ConfirmActProps {
  readonly sandbox: Sandbox;
  readonly act: Act;
  readonly onClose: () => void;
}

export function ConfirmAct({ sandbox, act, onClose }: ConfirmActProps) {
  const [keepWorktree, setKeepWorktree] = useState(false);
  return (
    <Confirm
      title={`${actWords()[act]} ${sandbox.name}?`}
      action={actWords()[act]}
      danger={act === 'destroy'}
      onClose={onClose}
      onConfirm={() => void perform(sandbox, act, keepWorktree)}
    >
      <p>{consequences(act)}</p>
      {act !== 'start' && <UnpulledWork sandboxId={sandbox.sandbox_id} />}
      {act === 'destroy' && (
        <label className="check">
          <input
            type="checkbox"
            checked={keepWorktree}
            onChange={(event) => setKeepWorktree(event.target.checked)}
          />
          {t`Keep its files and commits on the server first`}
        </label>
      )}
    </Confirm>
  );
}

function consequences(act: Act): string {
  switch (act) {
    case 'stop':
      return t`All its terminals and programs end. Its files stay, and it can be started again.`;
    case 'recreate':
      return t`It starts over from its profile: programs end and files are made anew. Commits that were not pulled are saved as a bundle first.`;
    case 'destroy':
      return t`Its programs, its files, and commits that were not pulled are removed for good, unless you keep them.`;
    case 'start':
      return t`It starts again with its files as they were.`;
  }
}
