/** A sandbox's changes: its files, the diff of one of them, and comments for the agent.
 *
 * Keys: n and p choose a file, j and k a line, c comments, s and u split or unite, m marks a file
 * as seen.
 */

import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import type { Sandbox } from '../../api/types';
import { isLive } from '../../state/acts';
import { useStore } from '../../state/store';
import { panelOf } from '../parts/TabList';
import { addComment, comments, commentsOf } from './comments';
import { CommentBar } from './CommentBar';
import type { Editing } from './DiffView';
import { FileList } from './FileList';
import { FilePane } from './FilePane';
import type { ChangedFile, Compared } from './reviews';
import { ReviewTools } from './ReviewTools';
import { placeOf, type Row } from './rows';
import { loadSeen, markSeen } from './seen';
import { useChanges } from './useReview';

/** How lines are shown. */
export interface Look {
  readonly split: boolean;
  readonly blanks: boolean;
}

const NO_FILES: readonly ChangedFile[] = [];
const WIDE = 1100;

export default function ReviewPane({ sandbox }: { readonly sandbox: Sandbox }) {
  const [compared, setCompared] = useState<Compared>({
    repo: 0,
    against: 'base',
    checkpoint: null,
  });
  const [look, setLook] = useState<Look>(() => ({
    split: window.innerWidth > WIDE,
    blanks: true,
  }));
  const { repo, against, checkpoint } = compared;
  return (
    <Review
      key={`${repo} ${against} ${checkpoint}`}
      {...{ sandbox, compared, look }}
      onCompare={setCompared}
      onLook={setLook}
    />
  );
}

interface ReviewProps {
  readonly sandbox: Sandbox;
  readonly compared: Compared;
  readonly look: Look;
  readonly onCompare: (next: Compared) => void;
  readonly onLook: (next: Look) => void;
}

function Review({ sandbox, compared, look, onCompare, onLook }: ReviewProps) {
  const id = sandbox.sandbox_id;
  const box = useRef<HTMLDivElement>(null);
  const live = isLive(sandbox);
  const { value: changes, problem } = useChanges(id, compared, live);
  const files = changes?.files ?? NO_FILES;
  const { file, choose, step } = useChosen(files);
  const { isSeen, mark } = useSeen(id);
  const lines = useLines(file?.path ?? '');
  const all = commentsOf(useStore(comments), id);
  useEffect(() => box.current?.focus({ preventScroll: true }), []);

  const onKeyDown = onKeys({
    n: () => step(1),
    p: () => step(-1),
    j: () => lines.move(1),
    k: () => lines.move(-1),
    c: lines.comment,
    s: () => onLook({ ...look, split: true }),
    u: () => onLook({ ...look, split: false }),
    m: () => file !== null && mark(file),
  });
  const onSave = (words: string): void => {
    if (lines.editing === null || file === null) return;
    addComment(id, { ...lines.editing, path: file.path }, words);
    lines.setEditing(null);
    box.current?.focus({ preventScroll: true });
  };
  return (
    <div ref={box} className="review" tabIndex={-1} onKeyDown={onKeyDown} {...panelOf('changes')}>
      <ReviewTools {...{ sandbox, compared, changes, look, onCompare, onLook }} />
      <Note problem={problem} loading={changes === null} empty={files.length === 0} />
      {file !== null && (
        <div className="review-body">
          <FileList
            files={files}
            chosen={file.path}
            comments={all}
            {...{ isSeen }}
            onChoose={choose}
          />
          <FilePane
            key={file.path}
            {...{ id, live, compared, file, look, lines, onSave }}
            comments={all}
            seen={isSeen(file)}
            onSeen={() => mark(file)}
          />
        </div>
      )}
      {all.length > 0 && <CommentBar sandboxId={id} comments={all} />}
    </div>
  );
}

interface NoteProps {
  readonly problem: string | null;
  readonly loading: boolean;
  readonly empty: boolean;
}

function Note({ problem, loading, empty }: NoteProps) {
  if (problem !== null) {
    return (
      <p className="review-note" role="alert">
        {problem}
      </p>
    );
  }
  if (!empty) return null;
  return <p className="review-note quiet">{loading ? 'Comparing…' : 'Nothing differs.'}</p>;
}

/** Keys of the pane; a text field keeps its own. */
function onKeys(keys: Readonly<Record<string, () => void>>): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest('input, textarea, select')) return;
    const act = keys[event.key];
    if (act === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
}

/** The chosen file; the first where it is gone. */
function useChosen(files: readonly ChangedFile[]) {
  const [path, setPath] = useState<string | null>(null);
  const at = Math.max(
    0,
    files.findIndex((one) => one.path === path),
  );
  const step = (by: number): void => {
    const next = files[at + by];
    if (next !== undefined) setPath(next.path);
  };
  return { file: files[at] ?? null, choose: setPath, step };
}

/** Which files this person has seen as they are. */
function useSeen(id: string) {
  const [seen, setSeen] = useState(() => loadSeen(id));
  const isSeen = (file: ChangedFile): boolean => seen[file.path] === file.digest;
  const mark = (file: ChangedFile): void => {
    setSeen((now) => markSeen(id, now, file.path, isSeen(file) ? null : file.digest));
  };
  return { isSeen, mark };
}

export interface Lines {
  readonly cursor: number;
  readonly editing: Editing | null;
  readonly setEditing: (at: Editing | null) => void;
  readonly onRows: (rows: readonly Row[]) => void;
  readonly move: (by: number) => void;
  readonly comment: () => void;
}

/** The line the keyboard is at, and the one that is commented on; both of one file. */
function useLines(path: string): Lines {
  const rows = useRef<readonly Row[]>([]);
  const [at, setAt] = useState({ path, cursor: 0 });
  const [edited, setEdited] = useState<{ path: string; editing: Editing | null }>({
    path,
    editing: null,
  });
  const cursor = at.path === path ? at.cursor : 0;
  const onRows = useCallback((now: readonly Row[]) => {
    rows.current = now;
  }, []);
  const setEditing = useCallback((editing: Editing | null) => setEdited({ path, editing }), [path]);
  return useMemo(
    () => ({
      cursor,
      editing: edited.path === path ? edited.editing : null,
      setEditing,
      onRows,
      move: (by: number) => setAt({ path, cursor: nextLine(rows.current, cursor, by) }),
      comment: () => {
        const found = editingOf(rows.current[cursor]);
        if (found !== null) setEdited({ path, editing: found });
      },
    }),
    [cursor, edited, path, setEditing, onRows],
  );
}

function editingOf(row: Row | undefined): Editing | null {
  if (row?.kind !== 'line' && row?.kind !== 'pair') return null;
  const line = row.kind === 'line' ? row.line : (row.right ?? row.left);
  const place = line === null ? null : placeOf(line);
  return line === null || place === null ? null : { ...place, text: line.text };
}

/** The next row with a line; the same when there is none. */
function nextLine(rows: readonly Row[], from: number, by: number): number {
  for (let at = from + by; at >= 0 && at < rows.length; at += by) {
    const kind = rows[at]?.kind;
    if (kind === 'line' || kind === 'pair') return at;
  }
  return from;
}
