/** The dialogs about copies of a sandbox: its fork, and its snapshots. */

import { t } from '../../language/t';
import { sandboxes } from '../../state/sandboxes';
import { copying } from '../../state/snapshots';
import { useStore } from '../../state/store';
import { Dialog } from '../parts/Dialog';
import { ForkForm } from './ForkForm';
import { SnapshotList } from './SnapshotList';
import '../../styles/work.css';

export function CopyDialog() {
  const about = useStore(copying);
  const list = useStore(sandboxes);
  const sandbox = list?.find(({ sandbox_id: id }) => id === about?.sandbox);
  if (about === null || sandbox === undefined) return null;
  const close = (): void => copying.set(null);
  const forks = about.how === 'fork';
  return (
    <Dialog
      title={forks ? t`Fork ${sandbox.name}` : t`Snapshots of ${sandbox.name}`}
      wide={!forks}
      onClose={close}
    >
      {forks ? <ForkForm {...{ sandbox, close }} /> : <SnapshotList {...{ sandbox, close }} />}
    </Dialog>
  );
}
