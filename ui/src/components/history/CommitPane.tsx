/** One commit: its message, its files, and the diff of the chosen one. */

import { useCallback, useState } from 'react';
import { plural, t } from '../../language/t';
import { useAnswer } from '../parts/useAnswer';
import { DiffView } from '../review/diff/DiffView';
import { type FileDiff } from '../review/diff/rows';
import { visible } from '../../unseen';
import { commits, type ShownCommit } from './commits';

interface CommitPaneProps {
  readonly id: string;
  readonly repo: number;
  readonly commit: string;
  /** Shows another commit: a parent of it. */
  readonly onChoose: (commit: string) => void;
}

export function CommitPane({ id, repo, commit, onChoose }: CommitPaneProps) {
  const ask = useCallback((key: string) => commits.show(id, repo, key), [id, repo]);
  const { value, problem } = useAnswer(ask, commit);
  const [path, setPath] = useState<string | null>(null);
  if (value === null) {
    return (
      <p className="files-empty quiet" role={problem === null ? undefined : 'alert'}>
        {problem === null ? t`Loading…` : visible(problem.message)}
      </p>
    );
  }
  const file = value.files.find((one) => one.path === path) ?? value.files[0];
  return (
    <section className="commit" aria-label={t`Commit ${commit.slice(0, 12)}`}>
      <CommitHead shown={value} onChoose={onChoose} />
      {value.files.length > 1 && (
        <ul className="commit-files" aria-label={t`Files of the commit`}>
          {value.files.map((one) => (
            <li key={one.path}>
              <button
                type="button"
                className="review-file"
                aria-current={one.path === file?.path}
                title={visible(one.path)}
                onClick={() => setPath(one.path)}
              >
                <span className="review-name">{visible(one.path)}</span>
                <Counts file={one} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {file === undefined ? (
        <p className="files-empty quiet">{t`It changes no file.`}</p>
      ) : (
        <FileChange key={file.path} file={file} />
      )}
    </section>
  );
}

interface CommitHeadProps {
  readonly shown: ShownCommit;
  readonly onChoose: (commit: string) => void;
}

function CommitHead({ shown: { commit, message, truncated, files }, onChoose }: CommitHeadProps) {
  const rest = message.slice(message.indexOf('\n') + 1).trim();
  return (
    <header className="commit-head">
      <h2>{visible(commit.subject)}</h2>
      <p className="quiet">
        {visible(commit.author)} · {new Date(commit.at).toLocaleString()} ·{' '}
        <code>{commit.commit.slice(0, 12)}</code>
        {commit.parents.map((parent) => (
          <span key={parent}>
            {' '}
            · {t`parent`}{' '}
            <button type="button" className="prose-link" onClick={() => onChoose(parent)}>
              {parent.slice(0, 8)}
            </button>
          </span>
        ))}
      </p>
      {message.includes('\n') && rest !== '' && (
        <pre tabIndex={0} className="commit-message">
          {rest.split('\n').map(visible).join('\n')}
        </pre>
      )}
      <p className="quiet">
        {plural(files.length, { one: '# file', other: '# files' })}
        {truncated && `: ${t`more was changed than is shown`}`}
        {commit.parents.length > 1 && `, ${t`against its first parent`}`}
      </p>
    </header>
  );
}

function Counts({ file }: { readonly file: FileDiff }) {
  if (file.binary) return <span className="quiet">{t`binary`}</span>;
  const lines = file.hunks.flatMap((hunk) => hunk.lines);
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length;
  return (
    <span className="review-lines">
      <span className="review-plus">+{count('+')}</span>{' '}
      <span className="review-minus">−{count('-')}</span>
    </span>
  );
}

const nothing = (): void => undefined;
const savesNothing = (): Promise<boolean> => Promise.resolve(false);

function FileChange({ file }: { readonly file: FileDiff }) {
  const { old_path: old } = file;
  return (
    <div className="review-diff commit-diff">
      <p className="commit-path">
        {old !== null && <span className="quiet">{visible(old)} → </span>}
        {visible(file.path)}
      </p>
      {file.hunks.length === 0 ? (
        <p className="review-note quiet">{file.binary ? t`It is binary.` : t`No line differs.`}</p>
      ) : (
        <DiffView
          file={file}
          split={false}
          threads={NO_THREADS}
          editing={null}
          cursor={-1}
          onRows={nothing}
          onEdit={null}
          onSave={savesNothing}
          acts={null}
          onDiscard={null}
        />
      )}
    </div>
  );
}

const NO_THREADS: readonly never[] = [];
