/** Merges a sandbox's branch into another one, inside, and says how the result comes home. */

import { useState, type ReactNode, type SubmitEvent } from 'react';
import { Problem } from '../../api/call';
import type { Sandbox, Schemas } from '../../api/types';
import { plural, t, worded } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { orderPull, pullCommand, type PullWish } from '../../state/home/home';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import {
  doWork,
  merging,
  mergeWork,
  type MergeOrder,
  type MergeResult,
} from '../../state/work/acts';
import { Dialog } from '../parts/Dialog';
import { Line } from '../parts/Field';
import { Segments } from '../parts/Segments';
import { visible } from '../../unseen';
import { ConflictActs } from './ConflictActs';
import '../../styles/home.css';
import '../../styles/work.css';

type Way = Schemas['MergeWay'];

const WAYS = worded<readonly { value: Way; words: string; note: string }[]>(() => [
  { value: 'squash', words: t`Squash`, note: t`All of it becomes one commit.` },
  { value: 'merge', words: t`Merge`, note: t`Its commits, and a merge commit that joins them.` },
  { value: 'rebase', words: t`Rebase`, note: t`Its commits one by one, without a merge commit.` },
]);
const WAY_KEY = 'atoll.merge';

export function MergeDialog() {
  const about = useStore(merging);
  const list = useStore(sandboxes);
  const sandbox = list?.find(({ sandbox_id: id }) => id === about?.sandbox);
  if (about === null || sandbox === undefined) return null;
  const close = (): void => merging.set(null);
  return (
    <Dialog title={t`Merge ${sandbox.name}`} onClose={close}>
      <Steps key={about.repo} {...{ sandbox, close }} first={about.repo} />
    </Dialog>
  );
}

interface StepsProps {
  readonly sandbox: Sandbox;
  readonly first: number;
  readonly close: () => void;
}

function Steps({ sandbox, first, close }: StepsProps) {
  const [result, setResult] = useState<MergeResult | null>(null);
  const [repo, setRepo] = useState(first);
  if (result === null) {
    return <Form {...{ sandbox, repo, close }} onRepo={setRepo} onResult={setResult} />;
  }
  if (result.outcome === 'merged') return <Merged {...{ sandbox, repo, result, close }} />;
  return <Stopped {...{ sandbox, repo, result, close }} />;
}

interface FormProps {
  readonly sandbox: Sandbox;
  readonly repo: number;
  readonly close: () => void;
  readonly onRepo: (repo: number) => void;
  readonly onResult: (result: MergeResult) => void;
}

function Form({ sandbox, repo, close, onRepo, onResult }: FormProps) {
  const uncommitted = sandbox.work?.uncommitted ?? 0;
  const [into, setInto] = useState('');
  const [way, setWay] = useState(rememberedWay);
  const [title, setTitle] = useState('');
  const [commits, setCommits] = useState(true);
  const [pushes, setPushes] = useState(false);
  const { busy, problem, send } = useMerge(sandbox.sandbox_id, onResult);
  const order: MergeOrder = {
    repo,
    into: orNull(into),
    way,
    title: orNull(title),
    commit: uncommitted > 0 && commits,
    push: pushes,
  };

  function submit(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    localStorage.setItem(WAY_KEY, way);
    void send(order);
  }

  return (
    <form className="form" onSubmit={submit} aria-busy={busy}>
      {sandbox.repos.length > 1 && <RepoChoice {...{ sandbox, repo, onRepo }} />}
      <Line
        label={t`Into`}
        hint={t`A branch of its repository. The work is rebased onto its newest commits first.`}
        value={into}
        placeholder={baseOf(sandbox, repo)}
        onChange={setInto}
      />
      <div>
        <Segments legend={t`How`} choices={WAYS()} chosen={way} onChoose={setWay} />
        <p className="field-hint">{WAYS().find(({ value }) => value === way)?.note}</p>
      </div>
      {way !== 'rebase' && (
        <Line
          label={t`Title of the commit`}
          value={title}
          placeholder={titleOf(sandbox)}
          onChange={setTitle}
        />
      )}
      {uncommitted > 0 && (
        <Check checked={commits} onChange={setCommits}>
          {plural(uncommitted, {
            one: 'Commit first what is not committed: # file',
            other: 'Commit first what is not committed: # files',
          })}
        </Check>
      )}
      {hasRemote(sandbox, repo) && (
        <Check checked={pushes} onChange={setPushes}>
          {t`Push the result to its remote`}
        </Check>
      )}
      <Refusal {...{ problem, busy }} onAgain={() => void send({ ...order, now: true })} />
      <footer className="dialog-foot">
        <button type="button" className="button" onClick={close}>
          {t`Cancel`}
        </button>
        <button type="submit" className="button button-primary" disabled={busy}>
          {busy ? t`Merging…` : t`Merge`}
        </button>
      </footer>
    </form>
  );
}

interface CheckProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly children: ReactNode;
}

function Check({ checked, onChange, children }: CheckProps) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
      />
      {children}
    </label>
  );
}

/** Why it was not merged, as the server says it. */
interface Refused {
  readonly message: string;
  readonly code: string;
}

interface RefusalProps {
  readonly problem: Refused | null;
  readonly busy: boolean;
  readonly onAgain: () => void;
}

function Refusal({ problem, busy, onAgain }: RefusalProps) {
  if (problem === null) return null;
  return (
    <div className="form-trouble" role="alert">
      <p>{problem.message}</p>
      {problem.code === 'agent_works' && (
        <button type="button" className="button button-small" disabled={busy} onClick={onAgain}>
          {t`Merge all the same`}
        </button>
      )}
    </div>
  );
}

function hasRemote({ repos }: Sandbox, repo: number): boolean {
  return (repos[repo]?.repo_url ?? '') !== '';
}

/** The branch that the server takes where none is written. */
function baseOf({ repos }: Sandbox, repo: number): string {
  return repos[repo]?.from_branch ?? t`the branch it began from`;
}

/** What the server uses where nothing is written. */
function orNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

function rememberedWay(): Way {
  const last = localStorage.getItem(WAY_KEY);
  return WAYS().find(({ value }) => value === last)?.value ?? 'squash';
}

function titleOf({ name, task }: Sandbox): string {
  return task?.prompt.trim().split('\n', 1)[0] ?? name;
}

function useMerge(id: string, onResult: (result: MergeResult) => void) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Refused | null>(null);
  async function send(order: MergeOrder): Promise<void> {
    setBusy(true);
    setProblem(null);
    try {
      onResult(await mergeWork(id, order));
    } catch (reason) {
      const message = reason instanceof Error ? reason.message : String(reason);
      setProblem({ message, code: reason instanceof Problem ? reason.code : '' });
    } finally {
      setBusy(false);
    }
  }
  return { busy, problem, send };
}

function RepoChoice({ sandbox, repo, onRepo }: Pick<FormProps, 'sandbox' | 'repo' | 'onRepo'>) {
  return (
    <div className="field">
      <label htmlFor="merge-repo">{t`Repository`}</label>
      <select id="merge-repo" value={repo} onChange={(event) => onRepo(Number(event.target.value))}>
        {sandbox.repos.map(({ path }, number) => (
          <option key={path} value={number}>
            {path}
          </option>
        ))}
      </select>
    </div>
  );
}

interface ResultProps {
  readonly sandbox: Sandbox;
  readonly repo: number;
  readonly result: MergeResult;
  readonly close: () => void;
}

/** It is merged, inside: the ways home, and the end of the sandbox. */
function Merged({ sandbox, repo, result, close }: ResultProps) {
  const { into, commit, commits, pushed, detail } = result;
  const wish: PullWish = { repo, branch: into, into, uncommitted: false };
  const [ordered, setOrdered] = useState(false);

  function pull(): void {
    orderPull(sandbox.sandbox_id, wish).then(() => setOrdered(true), notifyFailure(t`Not pulled`));
  }

  return (
    <div className="form">
      <p role="status">
        {plural(
          commits,
          {
            one: '{into} is at {commit} inside, with # commit of this work.',
            other: '{into} is at {commit} inside, with # commits of this work.',
          },
          { into: visible(into), commit: commit.slice(0, 12) },
        )}{' '}
        {pushed === true && t`It is pushed to the remote.`}
        {pushed === false && detail}
      </p>
      {pushed !== true && (
        <section>
          <h3 className="form-title">{t`Bring it home`}</h3>
          <p className="field-hint">
            {ordered
              ? t`A checkout that waits pulls it. Or run there:`
              : t`Run this in your checkout, or let one that waits pull it:`}
          </p>
          <code className="home-command">{pullCommand(sandbox.name, wish)}</code>
        </section>
      )}
      <footer className="dialog-foot">
        {pushed !== true && (
          <button type="button" className="button" disabled={ordered} onClick={pull}>
            {t`Pull ${into} into my checkout`}
          </button>
        )}
        <button
          type="button"
          className="button"
          onClick={() => {
            close();
            void doWork(sandbox, 'archive');
          }}
        >
          {t`Archive`}
        </button>
        <button type="button" className="button button-primary" data-first-focus onClick={close}>
          {t`Close`}
        </button>
      </footer>
    </div>
  );
}

/** A conflict: nothing was merged, and a rebase waits inside. */
function Stopped({ sandbox, repo, result, close }: ResultProps) {
  const { files, more, into } = result;
  return (
    <div className="form">
      <p role="alert">
        {t`Nothing is merged: the work and ${visible(into)} are in conflict. The rebase waits inside.`}
      </p>
      <ul className="lines lines-scroll" aria-label={t`Files in conflict`}>
        {files.map((path) => (
          <li key={path}>
            <code>{visible(path)}</code>
          </li>
        ))}
        {more > 0 && <li>{t`and ${more} more`}</li>}
      </ul>
      <footer className="dialog-foot">
        <ConflictActs {...{ sandbox, repo }} kind="rebase" onDone={close} />
      </footer>
    </div>
  );
}
