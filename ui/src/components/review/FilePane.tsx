/** One changed file: its head, and its lines or why there are none. */

import { useMemo, useState } from 'react';
import { announce, notifyFailure } from '../../state/announce';
import { Confirm } from '../parts/Dialog';
import { removeComment, type Comment } from './comments';
import { DiffView } from './DiffView';
import type { Lines, Look } from './ReviewPane';
import { reviews, type ChangedFile, type Compared, type Hunk } from './reviews';
import { visible } from './rows';
import { useDiff } from './useReview';

interface FilePaneProps {
  readonly id: string;
  readonly live: boolean;
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
  const { id, live, compared, file, look, lines, comments, onSave } = props;
  const [asked, setAsked] = useState<Hunk | 'file' | null>(null);
  const { value, problem } = useDiff(id, compared, file, look.blanks);
  const here = useMemo(
    () => comments.filter((one) => one.path === file.path),
    [comments, file.path],
  );
  return (
    <section className="review-diff" aria-label="Diff">
      <FileHead
        file={file}
        seen={props.seen}
        onSeen={props.onSeen}
        onDiscard={live && !file.path.endsWith('/') ? () => setAsked('file') : null}
      />
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
          onDiscard={live && look.blanks ? (at) => setAsked(value.hunks[at] ?? null) : null}
        />
      )}
      {asked !== null && (
        <Confirm
          title={
            asked === 'file'
              ? `Discard the changes of ${visible(file.path)}?`
              : 'Discard this change?'
          }
          action="Discard"
          danger
          onClose={() => setAsked(null)}
          onConfirm={() => void discard(id, compared, file, asked === 'file' ? null : asked)}
        >
          <p>
            It becomes as it is on the other side of this comparison. The files are saved as a
            checkpoint first, which undoes this.
          </p>
        </Confirm>
      )}
    </section>
  );
}

interface FileHeadProps {
  readonly file: ChangedFile;
  readonly seen: boolean;
  readonly onSeen: () => void;
  readonly onDiscard: (() => void) | null;
}

function FileHead({ file, seen, onSeen, onDiscard }: FileHeadProps) {
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
      {onDiscard !== null && (
        <button type="button" className="button button-small button-destroy" onClick={onDiscard}>
          Discard
        </button>
      )}
    </header>
  );
}

async function discard(
  id: string,
  compared: Compared,
  file: ChangedFile,
  hunk: Hunk | null,
): Promise<void> {
  try {
    const { saved } = await reviews.discard(id, compared, file, hunk);
    announce(`Discarded. Checkpoint ${saved} has the files as they were.`);
  } catch (reason) {
    notifyFailure('Not discarded')(reason);
  }
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
