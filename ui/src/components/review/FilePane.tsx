/** One changed file: its head, and its lines or why there are none. */

import { useMemo } from 'react';
import { removeComment, type Comment } from './comments';
import { DiffView } from './DiffView';
import type { Lines, Look } from './ReviewPane';
import type { ChangedFile, Compared } from './reviews';
import { visible } from './rows';
import { useDiff } from './useReview';

interface FilePaneProps {
  readonly id: string;
  readonly compared: Compared;
  readonly file: ChangedFile;
  readonly look: Look;
  readonly lines: Lines;
  readonly comments: readonly Comment[];
  readonly seen: boolean;
  readonly onSeen: () => void;
  readonly onSave: (words: string) => void;
}

export function FilePane(props: FilePaneProps) {
  const { id, compared, file, look, lines, comments, onSave } = props;
  const { value, problem } = useDiff(id, compared, file, look.blanks);
  const here = useMemo(
    () => comments.filter((one) => one.path === file.path),
    [comments, file.path],
  );
  return (
    <section className="review-diff" aria-label="Diff">
      <FileHead file={file} seen={props.seen} onSeen={props.onSeen} />
      {value === null || value.hunks.length === 0 ? (
        <p className="review-note quiet" role={problem === null ? undefined : 'alert'}>
          {problem ?? reasonOf(file)}
        </p>
      ) : (
        <DiffView
          file={value}
          split={look.split}
          comments={here}
          editing={lines.editing}
          cursor={lines.cursor}
          onRows={lines.onRows}
          onEdit={lines.setEditing}
          onSave={onSave}
          onRemove={(comment) => removeComment(id, comment)}
        />
      )}
    </section>
  );
}

interface FileHeadProps {
  readonly file: ChangedFile;
  readonly seen: boolean;
  readonly onSeen: () => void;
}

function FileHead({ file, seen, onSeen }: FileHeadProps) {
  const inGit = file.uncommitted ? 'not committed' : 'committed';
  return (
    <header className="review-head">
      <h2>
        {file.old_path !== null && <span className="quiet">{visible(file.old_path)} → </span>}
        {visible(file.path)}
      </h2>
      <span className="quiet">{file.untracked ? 'not in git yet' : inGit}</span>
      <label className="check">
        <input type="checkbox" checked={seen} onChange={onSeen} />
        Seen
      </label>
    </header>
  );
}

/** Why a file has no lines to see. */
function reasonOf(file: ChangedFile): string {
  if (file.path.endsWith('/')) return 'A git repository of its own lies here.';
  if (file.binary) return 'This file is binary.';
  if (file.additions + file.deletions > 0) return 'Loading…';
  const kept = file.kind !== 'added' && file.kind !== 'deleted';
  return kept && file.old_mode !== file.new_mode
    ? `Its mode changed from ${file.old_mode} to ${file.new_mode}.`
    : 'No line differs.';
}
