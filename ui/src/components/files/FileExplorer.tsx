/** The files of a sandbox as a tree: looked through, searched, changed, brought in and taken out.
 *
 * All of it works by keyboard, from the tree or its toolbar. What an agent named is text.
 */

import { useCallback, useId, useState, type DragEvent, type KeyboardEvent } from 'react';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { useStore } from '../../state/store';
import { Icon, type IconName } from '../parts/icons';
import { visible } from '../../unseen';
import { DriveTools } from '../drive/DriveTools';
import { FileDialogs, folderFor, type Over } from './FileDialogs';
import { FileRow } from './FileRow';
import { SearchPanel } from './SearchPanel';
import { TransferList } from './TransferList';
import { dropped, save, taken, transfers, upload, type Outgoing } from './transfers';
import { joined, keyOf, nameOf, ROOT, type EntryRow, type Place } from './tree';
import { useTree, type TreeView } from './useTree';
import { VirtualRows } from './VirtualRows';
import type { Liveness } from './watch';

export interface Chosen {
  readonly place: Place;
  /** The line to show; null for the beginning. */
  readonly line: number | null;
}

interface FileExplorerProps {
  readonly id: string;
  readonly live: boolean;
  /** Whether its person changes files there. */
  readonly works: boolean;
  /** Whether its person may take files with secrets out. */
  readonly owns: boolean;
  readonly chosen: Place | null;
  readonly onOpen: (chosen: Chosen) => void;
}

const ROW = 28;

export function FileExplorer(props: FileExplorerProps) {
  const { id, live, works, onOpen } = props;
  const tree = useTree(id, live);
  const [at, setAt] = useState<string | null>(null);
  const [searching, setSearching] = useState(false);
  const [over, setOver] = useState<Over | null>(null);
  const acts = live && works;
  const index = tree.rows.findIndex(({ key }) => key === at);
  const row = tree.rows[index];
  const entry = row?.kind === 'entry' ? row : null;
  const running = useStore(transfers).filter(({ sandbox }) => sandbox === id);
  const bring = useBring(id, folderFor(entry), setOver);

  function openRow(one: EntryRow): void {
    setAt(one.key);
    if (one.entry.type === 'dir') tree.toggle(one.place, !one.open);
    else onOpen({ place: one.place, line: null });
  }

  async function download(secrets: boolean): Promise<void> {
    const place = entry?.place ?? ROOT;
    const isFolder = entry === null || entry.entry.type === 'dir';
    const refusal = await save(id, place, isFolder, secrets);
    if (refusal === null) return;
    if (props.owns) setOver({ is: 'secrets', row: entry });
    else notify(t`Not downloaded: ${refusal.message}`, 'bad');
  }

  const press = (key: string): boolean => {
    if (key === 'F2' && acts && entry !== null) setOver({ is: 'rename', row: entry });
    else if (key === 'Delete' && acts && entry !== null) setOver({ is: 'remove', row: entry });
    else return false;
    return true;
  };

  return (
    <section
      className="files-explorer"
      aria-label={t`Files`}
      {...(acts ? bring.target : {})}
      data-over={bring.over}
      onKeyDown={(event) => {
        if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
          event.preventDefault();
          setSearching(true);
        }
      }}
    >
      <Tools
        {...{ id, acts, entry, searching, setSearching, setOver, tree }}
        onUpload={bring.onPick}
        onDownload={() => void download(false)}
      />
      {searching ? (
        <SearchPanel
          id={id}
          folder={ROOT}
          onClose={() => setSearching(false)}
          onFound={(place, line, isFolder) => {
            tree.reveal(isFolder ? `${place.path}/x` : place.path);
            setAt(keyOf(place));
            if (!isFolder) onOpen({ place, line });
          }}
        />
      ) : (
        <TreeRows {...{ tree, at, setAt, press, index }} chosen={props.chosen} onOpen={openRow} />
      )}
      <TransferList running={running} />
      <LiveNote liveness={tree.liveness} live={live} onRefresh={tree.refresh} />
      {over !== null && (
        <FileDialogs
          {...{ id, over, tree }}
          onClose={() => setOver(null)}
          onTake={() => void download(true)}
          onSend={bring.send}
          onMoved={(path) => setAt(path)}
        />
      )}
    </section>
  );
}

interface ToolsProps {
  readonly id: string;
  readonly acts: boolean;
  readonly entry: EntryRow | null;
  readonly searching: boolean;
  readonly tree: TreeView;
  readonly setSearching: (on: boolean) => void;
  readonly setOver: (over: Over) => void;
  readonly onUpload: () => void;
  readonly onDownload: () => void;
}

function Tools(props: ToolsProps) {
  const { id, acts, entry, searching, tree, setSearching, setOver } = props;
  const { onUpload, onDownload } = props;
  const exact = entry !== null && entry.place.exact !== null;
  const name = entry === null ? t`all files` : visible(nameOf(entry.place.path));
  return (
    <div className="files-tools" role="toolbar" aria-label={t`Files`}>
      <Tool
        icon="search"
        label={searching ? t`Close the search` : t`Search (Ctrl F)`}
        pressed={searching}
        onClick={() => setSearching(!searching)}
      />
      <Tool icon="recreate" label={t`Look again`} onClick={tree.refresh} />
      <Tool icon="download" label={t`Download ${name}`} onClick={onDownload} />
      {acts && (
        <>
          <Tool icon="upload" label={t`Upload files`} onClick={onUpload} />
          <Tool
            icon="folderPlus"
            label={t`New folder`}
            onClick={() => setOver({ is: 'folder', row: entry })}
          />
          <span className="spring" />
          <Tool
            icon="rename"
            label={exact ? t`Its name is not UTF-8: rename it inside` : t`Rename or move (F2)`}
            disabled={entry === null || exact}
            onClick={() => setOver({ is: 'rename', row: entry })}
          />
          <Tool
            icon="destroy"
            label={t`Delete (Del)`}
            disabled={entry === null}
            onClick={() => setOver({ is: 'remove', row: entry })}
          />
        </>
      )}
      <DriveTools
        sandbox={id}
        acts={acts}
        folder={folderFor(entry)}
        file={entry?.entry.type === 'file' && !exact ? entry.place.path : null}
        onBrought={tree.refresh}
      />
    </div>
  );
}

interface ToolProps {
  readonly icon: IconName;
  readonly label: string;
  readonly pressed?: boolean;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

function Tool({ icon, label, pressed, disabled = false, onClick }: ToolProps) {
  return (
    <button
      type="button"
      className="button-icon"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

interface TreeRowsProps {
  readonly tree: TreeView;
  /** The key of the row that the keyboard is at, and its number. */
  readonly at: string | null;
  readonly index: number;
  readonly setAt: (key: string) => void;
  readonly chosen: Place | null;
  readonly press: (key: string) => boolean;
  readonly onOpen: (row: EntryRow) => void;
}

function TreeRows({ tree, at, index, setAt, chosen, press, onOpen }: TreeRowsProps) {
  const prefix = useId();
  const { rows } = tree;
  const move = (to: number): void => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, to))];
    if (row !== undefined) setAt(row.key);
  };
  const { more } = tree;
  const onRange = useCallback(
    (from: number, to: number) => {
      for (const row of rows.slice(from, to)) if (row.kind === 'more') more(row.place);
    },
    [rows, more],
  );

  function onKeyDown(event: KeyboardEvent<HTMLDivElement>): void {
    const row = rows[index];
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (step !== undefined) move(index + step);
    else if (event.key === 'Home') move(0);
    else if (event.key === 'End') move(rows.length - 1);
    else if (row?.kind !== 'entry' || !pressAt(row, event.key)) return;
    event.preventDefault();
  }

  function pressAt(row: EntryRow, key: string): boolean {
    const isFolder = row.entry.type === 'dir';
    if (key === 'Enter' || key === ' ') onOpen(row);
    else if (key === 'ArrowRight' && isFolder) {
      if (row.open) move(index + 1);
      else tree.toggle(row.place, true);
    } else if (key === 'ArrowLeft') {
      if (row.open) tree.toggle(row.place, false);
      else move(rows.findLastIndex((one, i) => i < index && one.depth < row.depth));
    } else return press(key);
    return true;
  }

  return (
    <VirtualRows
      className="files-tree"
      role="tree"
      aria-label={t`Files of the workspace`}
      aria-activedescendant={index >= 0 ? `${prefix}${index}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onFocus={() => {
        if (index < 0) move(0);
      }}
      count={rows.length}
      height={ROW}
      at={index >= 0 ? index : null}
      onRange={onRange}
      render={(i) => {
        const row = rows[i];
        if (row === undefined) return null;
        return (
          <FileRow
            key={row.key}
            id={`${prefix}${i}`}
            row={row}
            here={row.key === at}
            chosen={chosen !== null && keyOf(chosen) === row.key}
            onOpen={onOpen}
          />
        );
      }}
    />
  );
}

interface LiveNoteProps {
  readonly liveness: Liveness;
  readonly live: boolean;
  readonly onRefresh: () => void;
}

/** Whether changes show by themselves. */
function LiveNote({ liveness, live, onRefresh }: LiveNoteProps) {
  if (liveness === 'live') return null;
  const words = {
    partly: t`There are too many folders to follow: some changes show only when you look again.`,
    waiting: t`Connecting…`,
    off: live ? t`Changes show when you look again.` : t`It does not run: this is what is kept.`,
  }[liveness];
  return (
    <p className="files-note quiet" role="status">
      {words}
      {liveness !== 'waiting' && live && (
        <button type="button" className="button button-small" onClick={onRefresh}>
          {t`Look again`}
        </button>
      )}
    </p>
  );
}

/** Files that are dropped on the tree, or picked. */
function useBring(id: string, folder: string, setOver: (over: Over) => void) {
  const [over, setIsOver] = useState(false);
  const send = (outgoing: readonly Outgoing[]): void => void upload(id, outgoing);

  async function offer(finding: Promise<readonly Outgoing[]>): Promise<void> {
    try {
      const outgoing = await finding;
      const there = await taken(id, outgoing);
      if (there.length === 0) send(outgoing);
      else setOver({ is: 'replace', outgoing, there: there.length });
    } catch (reason) {
      notifyFailure(t`Not uploaded`)(reason);
    }
  }

  function onPick(): void {
    const input = document.createElement('input');
    input.type = 'file';
    input.multiple = true;
    input.onchange = () => {
      const picked = [...(input.files ?? [])];
      void offer(
        Promise.resolve(picked.map((file) => ({ file, path: joined(folder, file.name) }))),
      );
    };
    input.click();
  }

  const holdsFiles = (event: DragEvent): boolean => event.dataTransfer.types.includes('Files');
  const target = {
    onDragOver: (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      setIsOver(true);
    },
    onDragLeave: () => setIsOver(false),
    onDrop: (event: DragEvent) => {
      setIsOver(false);
      if (!holdsFiles(event)) return;
      event.preventDefault();
      const row = (event.target as HTMLElement).closest<HTMLElement>('[data-folder]');
      void offer(dropped(event.dataTransfer, row?.dataset['folder'] ?? folder));
    },
  };
  return { over: over ? '' : undefined, target, send, onPick };
}
