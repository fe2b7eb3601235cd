/** Asks before an administrator ends a sandbox, and says what that means for its owner. */

import { overviewApi, type Overseen } from '../../api/overview';
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
  const whose = own ? 'your' : `${memberName(ours, row.owner)}’s`;
  const verb = act === 'stop' ? 'Stop' : 'Destroy';

  function end(): void {
    overviewApi.end(organization, row.sandbox_id, act).then(
      (ended) => {
        onDone(ended);
        notify(act === 'stop' ? `${row.name} stops. Its files stay.` : `${row.name} is removed.`);
      },
      notifyFailure(`${row.name} was not ended`),
    );
  }

  return (
    <Confirm
      title={`${verb} ${whose} sandbox ${row.name}?`}
      action={verb}
      danger={act === 'destroy'}
      onClose={onClose}
      onConfirm={end}
    >
      {act === 'stop' ? (
        <p>
          All its terminals and programs end{row.working > 0 && `, with ${atWork(row.working)}`}.
          Its files stay, and {own ? 'you' : 'its owner'} can start it again.
        </p>
      ) : (
        <p>
          Its programs, its files, and commits that were not pulled are removed for good
          {row.working > 0 && `, while ${atWork(row.working)}`}. Nobody can undo this.
        </p>
      )}
      {!own && <p className="quiet">The audit log will say that you did it.</p>}
    </Confirm>
  );
}

function atWork(working: number): string {
  return working === 1 ? 'an agent at work' : `${working} agents at work`;
}
