/** The chip of an issue or a pull request that is the task: its title, and what an agent is told. */

import { t, worded } from '../../../language/t';
import { Icon } from '../../parts/icons';
import { Pop } from '../../parts/Pop';
import type { IssueTask } from './issues';
import type { ComposerState } from '../useComposer';

const STATES = worded(() => ({ open: t`Open`, merged: t`Merged`, closed: t`Closed` }) as const);

export function IssueChip({ state }: { readonly state: ComposerState }) {
  const { draft, reading, dropIssue } = state;
  if (reading !== null)
    return (
      <span className="chip chip-issue" role="status">
        <Icon name="link" />
        <span className="chip-words">{t`Reading ${reading}…`}</span>
      </span>
    );
  const { issue } = draft;
  if (issue === null || draft.bare) return null;
  return (
    <Pop
      className="chip chip-on chip-issue"
      label={t`Task: ${nameOf(issue)}, ${issue.title}`}
      summary={
        <>
          <Icon name={issue.kind === 'pull' ? 'merge' : 'todo'} />
          <span className="chip-words">
            #{issue.number} {issue.title}
          </span>
        </>
      }
    >
      {(close) => (
        <div className="chip-list chip-issue-text">
          <p>
            <a href={issue.url} target="_blank" rel="noreferrer noopener">
              {nameOf(issue)}
            </a>{' '}
            <span className="quiet">{STATES()[issue.state]}</span>
          </p>
          <pre>{issue.prompt}</pre>
          <button
            type="button"
            className="button button-small"
            onClick={() => {
              dropIssue();
              close();
            }}
          >
            {t`Take it out`}
          </button>
        </div>
      )}
    </Pop>
  );
}

export function nameOf({ kind, number }: Pick<IssueTask, 'kind' | 'number'>): string {
  return kind === 'pull' ? t`Pull request ${number}` : t`Issue ${number}`;
}
