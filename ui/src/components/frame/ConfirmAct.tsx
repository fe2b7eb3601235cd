/** Asks before an act that ends something, saying what will end. */

import { useCallback, useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { actWords, neverHeldWork, perform, type Act } from '../../state/acts';
import { Confirm } from '../parts/Dialog';
import { LoseCheck, UnpulledWork, type Finding } from '../sandboxes/UnpulledWork';

/** Acts after which work that nobody has outside is lost, or will be some day. */
const ENDS: readonly Act[] = ['stop', 'recreate', 'destroy'];

interface ConfirmActProps {
  readonly sandbox: Sandbox;
  readonly act: Act;
  readonly onClose: () => void;
}

export function ConfirmAct({ sandbox, act, onClose }: ConfirmActProps) {
  const [keeps, setKeeps] = useState(false);
  const [loses, setLoses] = useState(false);
  const [finding, setFinding] = useState<Finding>('looking');
  const onFound = useCallback((_: string, found: Finding) => setFinding(found), []);
  const ends = act === 'destroy';
  const empty = neverHeldWork(sandbox);
  return (
    <Confirm
      title={`${actWords()[act]} ${sandbox.name}?`}
      action={actWords()[act]}
      danger={ends}
      ready={!ends || empty || keeps || loses || finding === 'nothing'}
      onClose={onClose}
      onConfirm={() => void perform(sandbox, act, { keeps, loses })}
    >
      <p>{consequences(act)}</p>
      {ENDS.includes(act) && !empty && (
        <UnpulledWork sandboxId={sandbox.sandbox_id} onFound={onFound} />
      )}
      {ends && !empty && (
        <label className="check">
          <input
            type="checkbox"
            checked={keeps}
            onChange={(event) => setKeeps(event.target.checked)}
          />
          {t`Keep its files and commits on the server first`}
        </label>
      )}
      {ends && !empty && !keeps && (
        <LoseCheck finding={finding} checked={loses} onChange={setLoses} />
      )}
    </Confirm>
  );
}

function consequences(act: Act): string {
  switch (act) {
    case 'sleep':
      return t`All its programs end. Its files stay, terminals come back as they are, and whoever uses it wakes it.`;
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
