/** What is compared with what, how it is shown, and the way back to a checkpoint. */

import { useEffect, useState } from 'react';
import type { Sandbox } from '../../api/types';
import { plural, t, worded } from '../../language/t';
import { announce, notifyFailure } from '../../state/announce';
import { useDraft } from '../../state/drafts';
import { Confirm, Dialog } from '../parts/Dialog';
import { ReviewActs } from '../work/ReviewActs';
import { PullButton } from './PullRequest';
import type { Look, LookChoice } from './look';
import { reviews, type Against, type Changes, type Checkpoint, type Compared } from './reviews';

interface ReviewToolsProps {
  readonly sandbox: Sandbox;
  /** Whether its person changes files there now. */
  readonly edits: boolean;
  readonly compared: Compared;
  readonly changes: Changes | null;
  readonly look: Look;
  readonly onCompare: (next: Compared) => void;
  readonly onLook: (chosen: Partial<LookChoice>) => void;
  readonly onHelp: () => void;
}

const TO_THE_MINUTE = { hour: '2-digit', minute: '2-digit' } as const;

const CHOICES = worded<readonly { readonly value: Against; readonly words: string }[]>(() => [
  { value: 'base', words: t`Since its branch began` },
  { value: 'turn', words: t`Since a turn began` },
  { value: 'uncommitted', words: t`Not committed` },
]);

export function ReviewTools(props: ReviewToolsProps) {
  const { sandbox, edits, compared, changes, look, onCompare, onLook, onHelp } = props;
  const { repos } = sandbox;
  return (
    <div className="review-tools" role="toolbar" aria-label={t`Review`}>
      {repos.length > 1 && (
        <select
          aria-label={t`Repository`}
          value={compared.repo}
          onChange={(event) => onCompare({ ...compared, repo: Number(event.target.value) })}
        >
          {repos.map((repo, i) => (
            <option key={repo.path} value={i}>
              {repo.path}
            </option>
          ))}
        </select>
      )}
      <select
        aria-label={t`Compared with`}
        value={compared.against}
        onChange={(event) => {
          const against =
            CHOICES().find(({ value }) => value === event.target.value)?.value ?? 'base';
          onCompare({ ...compared, against, checkpoint: null });
        }}
      >
        {CHOICES().map(({ value, words }) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
      {compared.against === 'turn' && (
        <Checkpoints {...{ sandbox, edits, compared, changes, onCompare }} />
      )}
      {changes !== null && <Sum changes={changes} />}
      <span className="spring" />
      {edits && changes?.files.some(({ uncommitted }) => uncommitted) === true && (
        <Commit id={sandbox.sandbox_id} repo={compared.repo} />
      )}
      <ReviewActs sandbox={sandbox} repo={compared.repo} />
      <PullButton {...{ sandbox, compared, changes }} />
      <label className="check wide-only">
        <input
          type="checkbox"
          checked={look.split}
          onChange={(event) => onLook({ split: event.target.checked })}
        />
        {t`Side by side`}
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={!look.blanks}
          onChange={(event) => onLook({ blanks: !event.target.checked })}
        />
        {t`Ignore blanks`}
      </label>
      <button type="button" className="button button-small review-help" onClick={onHelp}>
        {t`Keys`}
      </button>
    </div>
  );
}

function Sum({ changes }: { readonly changes: Changes }) {
  const { total, additions, deletions, commits, files } = changes;
  return (
    <span className="review-sum">
      {plural(total, { one: '# file', other: '# files' })}
      {total > files.length && ` ${t`(the first ${files.length} are listed)`}`}{' '}
      <span className="review-plus">+{additions}</span>{' '}
      <span className="review-minus">−{deletions}</span>
      {commits > 0 && ` · ${plural(commits, { one: '# commit', other: '# commits' })}`}
    </span>
  );
}

/** Commits what is not committed, with a message. */
function Commit({ id, repo }: { readonly id: string; readonly repo: number }) {
  const [open, setOpen] = useState(false);
  const [message, setMessage] = useDraft(`commit:${id}:${repo}`);

  async function commit(): Promise<void> {
    try {
      const { commit: made } = await reviews.commit(id, repo, message);
      setOpen(false);
      setMessage('');
      announce(t`Committed as ${made.slice(0, 12)}.`);
    } catch (reason) {
      notifyFailure(t`Not committed`)(reason);
    }
  }

  return (
    <>
      <button type="button" className="button button-small" onClick={() => setOpen(true)}>
        {t`Commit…`}
      </button>
      {open && (
        <Dialog title={t`Commit all that is not committed`} onClose={() => setOpen(false)}>
          <form
            className="review-commit"
            onSubmit={(event) => {
              event.preventDefault();
              void commit();
            }}
          >
            <textarea
              data-first-focus
              aria-label={t`Message`}
              placeholder={t`What changes, and why`}
              maxLength={10000}
              value={message}
              onChange={(event) => setMessage(event.target.value)}
            />
            <button
              type="submit"
              className="button button-primary"
              disabled={message.trim() === ''}
            >
              {t`Commit`}
            </button>
          </form>
        </Dialog>
      )}
    </>
  );
}

type CheckpointsProps = Omit<ReviewToolsProps, 'look' | 'onLook' | 'onHelp'>;

function Checkpoints({ sandbox, edits, compared, changes, onCompare }: CheckpointsProps) {
  const id = sandbox.sandbox_id;
  const { repo, checkpoint } = compared;
  const [list, setList] = useState<readonly Checkpoint[]>([]);
  const [asking, setAsking] = useState(false);
  const digest = changes?.digest ?? '';
  useEffect(() => {
    reviews.checkpoints(id, repo).then(setList, () => setList([]));
  }, [id, repo, digest]);
  const chosen = list.find(({ number }) => number === checkpoint) ?? list[0];
  if (chosen === undefined) return null;

  async function restore(number: number): Promise<void> {
    try {
      const { saved } = await reviews.restore(id, repo, number);
      announce(t`The files are back at checkpoint ${number}. Checkpoint ${saved} undoes that.`);
      setList(await reviews.checkpoints(id, repo));
    } catch (reason) {
      notifyFailure(t`The files were not brought back`)(reason);
    }
  }

  return (
    <>
      <select
        aria-label={t`Checkpoint`}
        value={chosen.number}
        onChange={(event) => onCompare({ ...compared, checkpoint: Number(event.target.value) })}
      >
        {list.map(({ number, at, subject }) => (
          <option key={number} value={number}>
            {`${number} · ${new Date(at).toLocaleTimeString([], TO_THE_MINUTE)} · ${subject}`}
          </option>
        ))}
      </select>
      {edits && (
        <button type="button" className="button button-small" onClick={() => setAsking(true)}>
          {t`Back to before it`}
        </button>
      )}
      {asking && (
        <Confirm
          title={t`Back to checkpoint ${chosen.number}?`}
          action={t`Bring the files back`}
          danger
          onClose={() => setAsking(false)}
          onConfirm={() => void restore(chosen.number)}
        >
          <p>
            {t`The files and the branch become what they were then. The present ones are saved as a checkpoint first, which undoes this.`}
          </p>
        </Confirm>
      )}
    </>
  );
}
