/** One row of the tree: an entry, or what is to be said of a folder. */

import { t } from '../../language/t';
import { Icon, type IconName } from '../parts/icons';
import { sizeWords } from '../parts/words';
import { visible } from '../../unseen';
import { folderOf, type Entry, type EntryRow, type Row } from './tree';

interface FileRowProps {
  readonly id: string;
  readonly row: Row;
  /** Whether the keyboard is here. */
  readonly here: boolean;
  /** Whether it is shown beside the tree. */
  readonly chosen: boolean;
  readonly onOpen: (row: EntryRow) => void;
}

const INDENT = 14;

export function FileRow({ id, row, here, chosen, onOpen }: FileRowProps) {
  const style = { paddingLeft: 8 + row.depth * INDENT };
  const className = here ? 'files-row files-here' : 'files-row';
  if (row.kind !== 'entry') {
    return (
      <div
        {...{ id, className, style }}
        role="treeitem"
        aria-level={row.depth + 1}
        aria-disabled
        data-quiet
      >
        {row.kind === 'more' ? t`Loading more…` : visible(row.words)}
      </div>
    );
  }
  const { entry, place, open } = row;
  const isFolder = entry.type === 'dir';
  return (
    <div
      {...{ id, className, style }}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-setsize={row.of}
      aria-posinset={row.at}
      aria-expanded={isFolder ? open : undefined}
      aria-selected={chosen}
      data-folder={isFolder ? place.path : folderOf(place.path)}
      title={titleOf(row)}
      onClick={() => onOpen(row)}
    >
      <span className="files-turn">{isFolder && <Icon name={open ? 'down' : 'right'} />}</span>
      <Icon name={ICONS[entry.type]} />
      <span className="files-name">{visible(entry.name)}</span>
      <span className="files-side">{sideOf(row)}</span>
    </div>
  );
}

const ICONS: Readonly<Record<Entry['type'], IconName>> = {
  dir: 'folder',
  file: 'file',
  symlink: 'link',
  other: 'file',
};

/** What stands beside a name. */
function sideOf({ entry: { type, size, target } }: EntryRow): string {
  if (type === 'symlink') return `→ ${visible(target ?? '?')}`;
  return type === 'file' ? sizeWords(size) : '';
}

function titleOf({ entry, place }: EntryRow): string {
  const { type, size, mode, mtime } = entry;
  const kinds = { file: sizeWords(size), dir: 'folder', symlink: 'link', other: t`special file` };
  return `${visible(place.path)} · ${kinds[type]} · ${mode} · ${new Date(mtime).toLocaleString()}`;
}
