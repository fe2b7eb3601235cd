/** The dialogs of the tree: names to give, and what is asked before it is done. */

import { plural, t } from '../../language/t';
import { announce, notifyFailure } from '../../state/announce';
import { Confirm } from '../parts/Dialog';
import { visible } from '../../unseen';
import { files } from './calls';
import { NameDialog } from './NameDialog';
import type { Outgoing } from './transfers';
import { folderOf, joined, nameOf, ROOT, type EntryRow } from './tree';
import type { TreeView } from './useTree';

/** What lies over the tree. */
export type Over =
  | { readonly is: 'folder' | 'rename' | 'remove'; readonly row: EntryRow | null }
  | { readonly is: 'replace'; readonly outgoing: readonly Outgoing[]; readonly there: number }
  | { readonly is: 'secrets'; readonly row: EntryRow | null };

interface FileDialogsProps {
  readonly id: string;
  readonly over: Over;
  readonly tree: TreeView;
  readonly onClose: () => void;
  readonly onTake: () => void;
  readonly onSend: (outgoing: readonly Outgoing[]) => void;
  readonly onMoved: (path: string) => void;
}

/** The folder that something is made in: the one at hand, or that of the file at hand. */
export function folderFor(entry: EntryRow | null): string {
  if (entry === null) return '';
  return entry.entry.type === 'dir' ? entry.place.path : folderOf(entry.place.path);
}

export function FileDialogs(props: FileDialogsProps) {
  const { over, onClose, onSend, onTake } = props;
  switch (over.is) {
    case 'folder':
      return <Making {...props} row={over.row} />;
    case 'rename':
      return <Renaming {...props} row={over.row} />;
    case 'remove':
      return <Removing {...props} row={over.row} />;
    case 'replace':
      return (
        <Confirm
          title={plural(over.there, { one: 'Replace a file?', other: 'Replace # files?' })}
          action={t`Replace`}
          danger
          onClose={onClose}
          onConfirm={() => onSend(over.outgoing)}
        >
          <p>{t`Files of the same names are there already. Their contents are lost then.`}</p>
        </Confirm>
      );
    case 'secrets':
      return (
        <Confirm
          title={t`Take secrets out, too?`}
          action={t`Download with secrets`}
          danger
          onClose={onClose}
          onConfirm={onTake}
        >
          <p>
            {t`A value of your secrets stands in ${wordsOf(over.row)}. The download would hold it in plain text, and the audit log says that you took it.`}
          </p>
        </Confirm>
      );
  }
}

type RowProps = FileDialogsProps & { readonly row: EntryRow | null };

const wordsOf = (row: EntryRow | null): string =>
  row === null ? t`the workspace` : visible(row.place.path);

/** Does it, says how it went, and shows what is there then. */
function perform({ refresh }: TreeView, act: Promise<unknown>, said: string, what: string): void {
  act.then(() => announce(said), notifyFailure(what)).finally(refresh);
}

function Making({ id, tree, row, onClose }: RowProps) {
  const folder = folderFor(row);
  return (
    <NameDialog
      title={folder === '' ? t`New folder` : t`New folder in ${visible(folder)}`}
      action={t`Make it`}
      before=""
      onClose={onClose}
      onName={(name) => {
        if (row?.entry.type === 'dir') tree.toggle(row.place, true);
        const making = files.mkdir(id, joined(folder, name));
        perform(tree, making, t`Made ${name}.`, t`No folder was made`);
      }}
    />
  );
}

function Renaming({ id, tree, row, onClose, onMoved }: RowProps) {
  const path = row?.place.path ?? '';
  return (
    <NameDialog
      title={t`Rename or move ${visible(nameOf(path))}`}
      action={t`Rename`}
      before={path}
      onClose={onClose}
      onName={(to) => {
        const moving = files.move(id, path, to).then(() => onMoved(to));
        perform(tree, moving, t`It is ${to} now.`, t`Not renamed`);
      }}
    />
  );
}

function Removing({ id, tree, row, onClose }: RowProps) {
  const words = wordsOf(row);
  return (
    <Confirm
      title={t`Delete ${words}?`}
      action={t`Delete`}
      danger
      onClose={onClose}
      onConfirm={() => {
        const removing = files.remove(id, row?.place ?? ROOT);
        perform(tree, removing, t`Deleted ${words}.`, t`Not deleted`);
      }}
    >
      <p>
        {t`${
          row?.entry.type === 'dir'
            ? t`The folder and everything in it are gone then.`
            : t`It is gone then.`
        } Only what git or a checkpoint knows can be brought back.`}
      </p>
    </Confirm>
  );
}
