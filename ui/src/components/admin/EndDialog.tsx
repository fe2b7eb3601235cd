/** Asks before an administrator ends a sandbox, and says what that means for its owner. */

import { overviewApi, type Overseen } from '../../api/overview';
import { plural, t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { useStore } from '../../state/store';
import { memberName } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Confirm } from '../parts/Dialog';

interface EndDialogProps {
  readonly organization: string;
  readonly row: Overseen;
  readonly act: 'stop' | 'destroy';
  readonly onClose: () => void;
  readonly onDone: (row: Overseen) => void;
}

export function EndDialog({ organization, row, act, onClose, onDone }: EndDialogProps) {
  const ours = useStore(team);
  const own = ours === null || ours.me === row.owner;
  const verb = act === 'stop' ? t`Stop` : t`Destroy`;

  function end(): void {
    overviewApi.end(organization, row.sandbox_id, act).then(
      (ended) => {
        onDone(ended);
        notify(act === 'stop' ? t`${row.name} stops. Its files stay.` : t`${row.name} is removed.`);
      },
      notifyFailure(t`${row.name} was not ended`),
    );
  }

  return (
    <Confirm
      title={question(act, own ? null : memberName(ours, row.owner), row.name)}
      action={verb}
      danger={act === 'destroy'}
      onClose={onClose}
      onConfirm={end}
    >
      {act === 'stop' ? (
        <p>
          {row.working > 0
            ? t`All its terminals and programs end, with ${atWork(row.working)}.`
            : t`All its terminals and programs end.`}{' '}
          {own
            ? t`Its files stay, and you can start it again.`
            : t`Its files stay, and its owner can start it again.`}
        </p>
      ) : (
        <p>
          {row.working > 0
            ? t`Its programs, its files, and commits that were not pulled are removed for good, while ${atWork(row.working)}. Nobody can undo this.`
            : t`Its programs, its files, and commits that were not pulled are removed for good. Nobody can undo this.`}
        </p>
      )}
      {!own && <p className="quiet">{t`The audit log will say that you did it.`}</p>}
    </Confirm>
  );
}

function atWork(working: number): string {
  return plural(working, { one: 'an agent at work', other: '# agents at work' });
}

function question(act: EndDialogProps['act'], owner: string | null, name: string): string {
  if (owner === null) {
    return act === 'stop' ? t`Stop your sandbox ${name}?` : t`Destroy your sandbox ${name}?`;
  }
  return act === 'stop'
    ? t`Stop ${owner}’s sandbox ${name}?`
    : t`Destroy ${owner}’s sandbox ${name}?`;
}
