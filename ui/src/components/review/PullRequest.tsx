/** A branch's pull request: opened here, and its checks and comments as its forge has them. */

import { useEffect, useState, type SubmitEvent } from 'react';
import { Problem } from '../../api/call';
import type { Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { isLive } from '../../state/acts';
import { announce, notify } from '../../state/announce';
import { age, tick } from '../../state/clock';
import { useDraft } from '../../state/drafts';
import { goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { useRights } from '../../state/team/useRights';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';
import { Empty, Loading, Trouble } from '../parts/States';
import { collect, pulls, type BranchPlace, type DiscussedPull, type ForgeComment } from './pulls';
import type { Changes, Compared } from './reviews';

interface PullButtonProps {
  readonly sandbox: Sandbox;
  readonly compared: Compared;
  readonly changes: Changes | null;
}

/** The way to it, for a branch of a repository that is somewhere else, too. */
export function PullButton({ sandbox, compared: { repo }, changes }: PullButtonProps) {
  const { manages } = useRights(sandbox.sandbox_id);
  const branch = changes?.branch ?? '';
  const elsewhere = (sandbox.repos[repo]?.repo_url ?? '') !== '';
  if (!manages || !elsewhere || branch === '') return null;
  const at = { sandbox: sandbox.sandbox_id, repo, branch };
  return <PullRequest at={at} live={isLive(sandbox)} task={sandbox.task} />;
}

interface PullRequestProps {
  readonly at: BranchPlace;
  /** Whether its sandbox runs, so that its branch can be pushed. */
  readonly live: boolean;
  readonly task: Sandbox['task'];
}

function PullRequest(props: PullRequestProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button button-small" onClick={() => setOpen(true)}>
        {t`Pull request…`}
      </button>
      {open && (
        <Dialog title={t`Pull request of ${props.at.branch}`} onClose={() => setOpen(false)} wide>
          <Body {...props} />
        </Dialog>
      )}
    </>
  );
}

type Asked =
  | { readonly is: 'loading' }
  | { readonly is: 'problem'; readonly problem: Error }
  | { readonly is: 'there'; readonly pull: DiscussedPull | null };

function Body({ at, live, task }: PullRequestProps) {
  const { sandbox, repo, branch } = at;
  const [asked, setAsked] = useState<Asked>({ is: 'loading' });
  const [times, setTimes] = useState(0);
  const again = (): void => setTimes(times + 1);
  useEffect(() => {
    let gone = false;
    const take = (next: Asked): void => {
      if (!gone) setAsked(next);
    };
    pulls.newest({ sandbox, repo, branch }).then(
      (pull) => take({ is: 'there', pull }),
      (reason: unknown) =>
        take({ is: 'problem', problem: reason instanceof Error ? reason : new Error() }),
    );
    return () => {
      gone = true;
    };
  }, [sandbox, repo, branch, times]);

  switch (asked.is) {
    case 'loading':
      return <Loading what={t`the pull request`} />;
    case 'problem':
      return <Refused problem={asked.problem} onRetry={again} />;
    case 'there': {
      const { pull } = asked;
      return (
        <>
          {pull !== null && <Shown {...{ pull, at }} onRetry={again} />}
          {pull?.state !== 'open' && <NewPull {...{ at, live, task }} onOpened={again} />}
        </>
      );
    }
  }
}

function Refused({ problem, onRetry }: { readonly problem: Error; readonly onRetry: () => void }) {
  const none = problem instanceof Problem && problem.code === 'no_forge';
  const act = (
    <button type="button" className="button" onClick={() => (none ? goTo('secrets') : onRetry())}>
      {none ? t`Secrets` : t`Try again`}
    </button>
  );
  const title = none ? t`No token for this forge yet` : t`The forge could not be asked`;
  return (
    <Trouble title={title} act={act}>
      {problem.message}
    </Trouble>
  );
}

const STATES = worded(() => ({ open: t`Open`, merged: t`Merged`, closed: t`Closed` }) as const);
const CHECKS = {
  pending: 'runs',
  passed: 'passed',
  failed: 'failed',
  skipped: 'skipped',
} as const;

interface ShownProps {
  readonly pull: DiscussedPull;
  readonly at: BranchPlace;
  readonly onRetry: () => void;
}

function Shown({ pull, at, onRetry }: ShownProps) {
  const { checks, comments, number, url, title, state, draft, branch, base, commit } = pull;
  return (
    <div className="pull">
      <p className="pull-head">
        <a href={url} target="_blank" rel="noreferrer noopener">
          #{number} {title}
        </a>
        <span className={`badge pull-${state}`}>{draft ? t`Draft` : STATES()[state]}</span>
        <button type="button" className="button button-small" onClick={onRetry}>
          {t`Look again`}
        </button>
      </p>
      <p className="quiet">{t`${branch} into ${base} · ${commit.slice(0, 12)}`}</p>
      {checks.length > 0 && (
        <ul className="pull-checks" aria-label={t`Checks`}>
          {checks.map(({ name, state: outcome }) => (
            <li key={name} className={`pull-check pull-${outcome}`}>
              <span className="pull-outcome">{CHECKS[outcome]}</span> {name}
            </li>
          ))}
        </ul>
      )}
      <Comments list={comments} at={at} />
    </div>
  );
}

function Comments({
  list,
  at,
}: {
  readonly list: readonly ForgeComment[];
  readonly at: BranchPlace;
}) {
  const now = useStore(tick);
  const [taken, setTaken] = useState<readonly string[]>([]);
  const take = async (several: readonly ForgeComment[]): Promise<void> => {
    const ids = several.map(({ id }) => id);
    setTaken((now) => [...now, ...ids]);
    const failed: string[] = [];
    for (const one of several) if (!(await collect(at, one))) failed.push(one.id);
    setTaken((now) => now.filter((id) => !failed.includes(id)));
    if (failed.length < ids.length) {
      announce(t`It is among the comments. Send them below the diff.`);
    }
  };
  const left = list.filter(({ id }) => !taken.includes(id));
  if (list.length === 0) return <Empty icon="text">{t`Nobody has commented yet.`}</Empty>;
  return (
    <>
      <ul className="pull-comments" aria-label={t`Comments`}>
        {list.map((one) => (
          <li key={one.id} className="pull-comment">
            <p className="pull-by">
              <strong>{one.author}</strong>
              {one.path !== null && (
                <span className="quiet">
                  {one.path}
                  {one.line !== null && `:${one.line}`}
                </span>
              )}
              <time className="quiet" dateTime={one.at}>
                {age(one.at, now)}
              </time>
              <span className="spring" />
              <button
                type="button"
                className="button button-small"
                disabled={taken.includes(one.id)}
                onClick={() => void take([one])}
              >
                {taken.includes(one.id) ? t`Taken` : t`To the agent`}
              </button>
            </p>
            <p className="pull-text">{one.text}</p>
          </li>
        ))}
      </ul>
      {left.length > 1 && (
        <button type="button" className="button" onClick={() => void take(left)}>
          {t`All ${left.length} to the agent`}
        </button>
      )}
    </>
  );
}

interface NewPullProps {
  readonly at: BranchPlace;
  readonly live: boolean;
  readonly task: Sandbox['task'];
  readonly onOpened: () => void;
}

function NewPull({ at: { sandbox, repo, branch }, live, task, onOpened }: NewPullProps) {
  const [title, setTitle] = useDraft(`pull:${sandbox}:${repo}:${branch}`);
  const [text, setText] = useDraft(`pull-text:${sandbox}:${repo}:${branch}`);
  const [base, setBase] = useState('');
  const [draft, setDraft] = useState(false);
  const [bases, setBases] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Problem | null>(null);
  useEffect(() => {
    pulls.branches(sandbox, repo).then(setBases, () => setBases([]));
  }, [sandbox, repo]);
  const at = (field: string): string | null => (trouble?.field === field ? trouble.message : null);

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setTrouble(null);
    try {
      const made = await pulls.open(sandbox, {
        title: title.trim() || null,
        text,
        repo,
        branch,
        base: base === '' ? null : base,
        draft,
      });
      notify(made.existed ? t`It is open already.` : t`Pull request ${made.number} is open.`);
      setTitle('');
      setText('');
      onOpened();
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble(reason);
    } finally {
      setBusy(false);
    }
  }

  if (!live)
    return <Empty>{t`Start the sandbox to push its branch and open a pull request.`}</Empty>;
  return (
    <form className="form" noValidate onSubmit={(event) => void submit(event)}>
      {trouble !== null && !['title', 'base'].includes(trouble.field ?? '') && (
        <p className="form-trouble" role="alert">
          {trouble.message}
        </p>
      )}
      <div className="form-row">
        <Field
          label={t`Title`}
          hint={task === null ? t`One line` : t`Left empty: the first line of the task`}
          trouble={at('title')}
          grow
        >
          {(wiring) => (
            <input
              {...wiring}
              data-first-focus
              maxLength={250}
              value={title}
              onChange={(event) => setTitle(event.target.value)}
            />
          )}
        </Field>
        <Field label={t`Into`} hint={t`Where its branch began`} trouble={at('base')}>
          {(wiring) => (
            <select {...wiring} value={base} onChange={(event) => setBase(event.target.value)}>
              <option value="">{t`By default`}</option>
              {bases
                .filter((one) => one !== branch)
                .map((one) => (
                  <option key={one}>{one}</option>
                ))}
            </select>
          )}
        </Field>
      </div>
      <Field label={t`Text`} trouble={at('text')}>
        {(wiring) => (
          <textarea
            {...wiring}
            className="pull-area"
            rows={5}
            maxLength={16000}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <label className="check">
        <input
          type="checkbox"
          checked={draft}
          onChange={(event) => setDraft(event.target.checked)}
        />
        {t`A draft`}
      </label>
      {task?.issue && <p className="quiet">{t`It answers ${task.issue}`}</p>}
      <footer className="dialog-foot">
        <button
          type="submit"
          className="button button-primary"
          disabled={busy || (task === null && title.trim() === '')}
        >
          {busy ? t`Pushing…` : t`Push and open`}
        </button>
      </footer>
    </form>
  );
}
