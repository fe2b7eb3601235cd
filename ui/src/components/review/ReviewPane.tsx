/** A sandbox's changes: its files, the diff of one of them, and comments for the agent.
 *
 * All of it works by keyboard: `ReviewKeys` names the keys.
 */

import { useLayoutEffect, useMemo, useRef, useState, type RefObject } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { isLive } from '../../state/acts';
import { roomForConflict, roomForDiff, useMatches } from '../../state/screen';
import { useRights } from '../../state/team/useRights';
import { panelOf } from '../parts/TabList';
import { ConflictNote } from '../work/ConflictNote';
import { CommentBar, useOutbox } from './CommentBar';
import { sideWords, type SideWords } from './diff/conflicts';
import { useThreadActs } from './diff/ThreadRow';
import { FileList } from './FileList';
import { FilePane } from './FilePane';
import type { Look, LookChoice } from './look';
import type { ChangedFile, Compared } from './reviews';
import { onKeys, ReviewKeys } from './ReviewKeys';
import { ReviewTools } from './ReviewTools';
import { loadSeen, markSeen } from './seen';
import { isAbout, threads as calls, useThreads, type ReviewThread } from './threads';
import { useLines, type Editing } from './diff/useLines';
import { useChanges } from './useReview';
import '../../styles/review.css';

const NO_FILES: readonly ChangedFile[] = [];

export default function ReviewPane({ sandbox }: { readonly sandbox: Sandbox }) {
  const [compared, setCompared] = useState<Compared>({
    repo: 0,
    against: 'base',
    checkpoint: null,
  });
  const [chosenLook, setChosenLook] = useState<LookChoice>({ split: null, blanks: true });
  const { repo, against, checkpoint } = compared;
  const threads = useThreads(sandbox.sandbox_id);
  // The choice that is made by keys keeps the keyboard: the next ones are meant for it.
  const chosenByRef = useRef<string | null>(null);
  return (
    <Review
      key={`${repo} ${against} ${checkpoint}`}
      {...{ sandbox, compared, chosenLook, chosenByRef, threads }}
      onCompare={setCompared}
      onLook={(chosen) => setChosenLook((now) => ({ ...now, ...chosen }))}
    />
  );
}

interface ReviewProps {
  readonly sandbox: Sandbox;
  readonly threads: readonly ReviewThread[];
  readonly compared: Compared;
  readonly chosenLook: LookChoice;
  /** The label of the choice that had the keyboard before this comparison. */
  readonly chosenByRef: RefObject<string | null>;
  readonly onCompare: (next: Compared) => void;
  readonly onLook: (chosen: Partial<LookChoice>) => void;
}

function Review(props: ReviewProps) {
  const { sandbox, compared, chosenLook, chosenByRef, threads, onLook } = props;
  const id = sandbox.sandbox_id;
  const box = useRef<HTMLDivElement>(null);
  const live = isLive(sandbox);
  const { value: changes, problem } = useChanges(id, compared, live);
  const files = changes?.files ?? NO_FILES;
  const { file, choose, step } = useChosen(files);
  const { isSeen, mark } = useSeen(id);
  const lines = useLines(file?.path ?? '');
  const outbox = useOutbox(sandbox, threads);
  const { works } = useRights(id);
  const acts = useThreadActs(id);
  const edits = live && works;
  const sides = useSides(sandbox, compared.repo);
  const look = useLook(chosenLook, sides, file);
  const [asked, setAsked] = useState<number | 'file' | null>(null);
  const [help, setHelp] = useState(false);
  useLayoutEffect(() => {
    const by = box.current?.querySelector<HTMLElement>(
      `select[aria-label="${chosenByRef.current}"]`,
    );
    (by ?? box.current)?.focus({ preventScroll: true });
  }, [chosenByRef]);
  const onCompare = (next: Compared): void => {
    chosenByRef.current = document.activeElement?.getAttribute('aria-label') ?? null;
    props.onCompare(next);
  };

  const onKeyDown = onKeys({
    j: () => step(1),
    k: () => step(-1),
    n: () => lines.moveHunk(1),
    p: () => lines.moveHunk(-1),
    ArrowDown: () => lines.move(1),
    ArrowUp: () => lines.move(-1),
    ...(works && {
      c: lines.comment,
      x: () => setAsked(look.blanks ? (lines.hunk() ?? 'file') : 'file'),
      'Ctrl+Enter': () => outbox.send(false),
      'Ctrl+Shift+Enter': () => outbox.send(true),
    }),
    v: () => file !== null && mark(file),
    s: () => onLook({ split: true }),
    u: () => onLook({ split: false }),
    '?': () => setHelp(true),
  });
  const openerOf = (thread: ReviewThread): (() => void) | null => {
    const about = files.find((one) => isAbout(thread, compared.repo, one.path, one.old_path));
    return about === undefined ? null : () => choose(about.path);
  };
  const saving = useRef(false);
  const onSave = async (words: string): Promise<boolean> => {
    const { editing } = lines;
    if (editing === null || file === null || saving.current) return false;
    saving.current = true;
    const saved = await save(id, { repo: compared.repo, path: file.path }, editing, words);
    saving.current = false;
    if (!saved) return false;
    lines.setEditing(null);
    box.current?.focus({ preventScroll: true });
    return true;
  };
  return (
    <div ref={box} className="review" tabIndex={-1} onKeyDown={onKeyDown} {...panelOf('changes')}>
      <ReviewTools
        {...{ sandbox, edits, compared, changes, look, onCompare, onLook }}
        onHelp={() => setHelp(true)}
      />
      <ConflictNote sandbox={sandbox} />
      <Note problem={problem} loading={changes === null} empty={files.length === 0} />
      {file !== null && (
        <div className="review-body">
          <FileList
            files={files}
            chosen={file.path}
            repo={compared.repo}
            {...{ isSeen, threads }}
            onChoose={choose}
          />
          <FilePane
            key={file.path}
            {...{ id, works, edits, compared, file, look, lines, sides, asked, threads, acts }}
            onSave={onSave}
            base={changes?.base ?? null}
            onAsk={setAsked}
            seen={isSeen(file)}
            onSeen={() => mark(file)}
          />
        </div>
      )}
      <CommentBar sandboxId={id} {...{ outbox, acts }} openerOf={openerOf} />
      {help && <ReviewKeys works={works} onClose={() => setHelp(false)} />}
    </div>
  );
}

/** Saves what was written: as a new thread, an answer, or other words of a remark. */
function save(
  id: string,
  at: { readonly repo: number; readonly path: string },
  { thread, remark, side, line, text }: Editing,
  words: string,
): Promise<boolean> {
  if (thread === undefined) return calls.open(id, { ...at, side, line, lines: [text] }, words);
  return remark === undefined
    ? calls.reply(id, thread, words)
    : calls.reword(id, thread, remark, words);
}

/** The names of the sides of the conflict that the repository is in; the same while it lasts. */
function useSides({ work }: Sandbox, repo: number): SideWords | null {
  const conflict = work?.conflict?.repo === repo ? work.conflict : null;
  const { kind, onto } = conflict ?? { kind: null, onto: '' };
  return useMemo(() => (kind === null ? null : sideWords({ kind, onto })), [kind, onto]);
}

/** How lines are shown: as it was chosen, else as the window has room. The sides of a conflict stand
 *  beside each other in a narrower one than those of a diff. */
function useLook(
  { split, blanks }: LookChoice,
  sides: SideWords | null,
  file: ChangedFile | null,
): Look {
  const conflict = sides !== null && file?.kind === 'unmerged';
  const [fits, fitsConflict] = [useMatches(roomForDiff), useMatches(roomForConflict)];
  return { split: split ?? (conflict ? fitsConflict : fits), blanks };
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
  return <p className="review-note quiet">{loading ? t`Comparing…` : t`Nothing differs.`}</p>;
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
