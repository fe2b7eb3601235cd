/** One changed file: its head, and its lines or why there are none. */

import { t } from '../../language/t';
import { announce, notifyFailure } from '../../state/announce';
import { Confirm } from '../parts/Dialog';
import { usePlaces, type ReviewThread } from './threads';
import type { SideWords } from './diff/conflicts';
import { DiffView } from './diff/DiffView';
import type { ThreadActs } from './diff/ThreadRow';
import type { Look } from './look';
import { reviews, type ChangedFile, type Compared, type Hunk } from './reviews';
import { type FileDiff } from './diff/rows';
import { visible } from '../../unseen';
import type { Lines } from './diff/useLines';
import { ImagePair, isImage, sizesOf } from './ImagePair';
import { useDiff } from './useReview';

interface FilePaneProps {
  readonly id: string;
  /** Whether its person may comment for an agent. */
  readonly works: boolean;
  /** Whether its person changes files there now. */
  readonly edits: boolean;
  readonly compared: Compared;
  /** The commit on the other side; null where there is none. */
  readonly base: string | null;
  readonly file: ChangedFile;
  readonly look: Look;
  /** The names of the sides of a conflict, where the repository is in one. */
  readonly sides: SideWords | null;
  readonly lines: Lines;
  readonly threads: readonly ReviewThread[];
  /** What this person does with threads; null for whoever only reads. */
  readonly acts: ThreadActs | null;
  readonly seen: boolean;
  readonly onSeen: () => void;
  readonly onSave: (words: string) => Promise<boolean>;
  /** What is to be discarded, if its person says yes: a hunk by its place, or the file. */
  readonly asked: number | 'file' | null;
  readonly onAsk: (asked: number | 'file' | null) => void;
}

export function FilePane(props: FilePaneProps) {
  const { id, edits, compared, file, look, onAsk } = props;
  const { value, problem } = useDiff(id, compared, file, look.blanks);
  const discards = edits && !file.path.endsWith('/');
  const asked = discards ? askedOf(props.asked, value) : null;
  return (
    <section className="review-diff" aria-label={t`Diff`}>
      <FileHead
        file={file}
        seen={props.seen}
        onSeen={props.onSeen}
        onDiscard={discards ? () => onAsk('file') : null}
      />
      <FileBody {...props} diff={value} problem={problem} discards={discards} />
      {asked !== null && (
        <Confirm
          title={
            asked === 'file'
              ? t`Discard the changes of ${visible(file.path)}?`
              : t`Discard this change?`
          }
          action={t`Discard`}
          danger
          onClose={() => onAsk(null)}
          onConfirm={() => void discard(id, compared, file, asked === 'file' ? null : asked)}
        >
          <p>
            {t`It becomes as it is on the other side of this comparison. The files are saved as a checkpoint first, which undoes this.`}
          </p>
        </Confirm>
      )}
    </section>
  );
}

interface FileBodyProps extends FilePaneProps {
  readonly diff: FileDiff | null;
  readonly problem: string | null;
  readonly discards: boolean;
}

/** The lines of a file, its pictures, or why there is neither. */
function FileBody(props: FileBodyProps) {
  const { id, compared, file, look, lines, diff, problem } = props;
  const placed = usePlaces(id, compared, file, props.threads);
  if (file.binary && isImage(file.path)) {
    return <ImagePair key={file.digest} {...{ id, file }} repo={compared.repo} base={props.base} />;
  }
  if (diff === null || diff.hunks.length === 0) {
    return (
      <p className="review-note quiet" role={problem === null ? undefined : 'alert'}>
        {problem ?? (diff === null ? t`Loading…` : reasonOf(file, look.blanks))}
      </p>
    );
  }
  return (
    <DiffView
      file={diff}
      split={look.split}
      sides={file.kind === 'unmerged' ? props.sides : null}
      threads={placed}
      editing={lines.editing}
      place={`${id} ${compared.repo} ${file.path}`}
      cursor={lines.cursor}
      onRows={lines.onRows}
      onEdit={props.works ? lines.setEditing : null}
      onSave={props.onSave}
      acts={props.acts}
      onDiscard={props.discards && look.blanks ? props.onAsk : null}
    />
  );
}

function askedOf(asked: number | 'file' | null, diff: FileDiff | null): Hunk | 'file' | null {
  return typeof asked === 'number' ? (diff?.hunks[asked] ?? null) : asked;
}

interface FileHeadProps {
  readonly file: ChangedFile;
  readonly seen: boolean;
  readonly onSeen: () => void;
  readonly onDiscard: (() => void) | null;
}

function FileHead({ file, seen, onSeen, onDiscard }: FileHeadProps) {
  const inGit = file.uncommitted ? t`not committed` : 'committed';
  return (
    <header className="review-head">
      <h2>
        {file.old_path !== null && <span className="quiet">{visible(file.old_path)} → </span>}
        {visible(file.path)}
      </h2>
      <span className="quiet">{file.untracked ? t`not in git yet` : inGit}</span>
      <label className="check">
        <input type="checkbox" checked={seen} onChange={onSeen} />
        {t`Seen`}
      </label>
      {onDiscard !== null && (
        <button type="button" className="button button-small button-destroy" onClick={onDiscard}>
          {t`Discard`}
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
    announce(t`Discarded. Checkpoint ${saved} has the files as they were.`);
  } catch (reason) {
    notifyFailure(t`Not discarded`)(reason);
  }
}

/** Why a file has no lines to see. */
function reasonOf(file: ChangedFile, blanks: boolean): string {
  if (file.path.endsWith('/')) return t`A git repository of its own lies here.`;
  if (file.binary) return t`This file is binary: ${sizesOf(file)}.`;
  if (file.additions + file.deletions > 0) {
    if (file.path.includes('\ufffd')) return t`Its name is not UTF-8: read it inside.`;
    return blanks ? t`Its lines cannot be shown.` : t`Only blanks differ.`;
  }
  const kept = file.kind !== 'added' && file.kind !== 'deleted';
  return kept && file.old_mode !== file.new_mode
    ? t`Its mode changed from ${file.old_mode} to ${file.new_mode}.`
    : t`No line differs.`;
}
