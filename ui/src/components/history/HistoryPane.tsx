/** The tab "Commits" of a sandbox: the graph of its branches, and the commit that was chosen. */

import { useCallback, useId, useMemo, useState, type KeyboardEvent } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { isLive } from '../../state/acts';
import { VirtualRows } from '../files/VirtualRows';
import { panelOf } from '../parts/TabList';
import { visible } from '../../unseen';
import { CommitPane } from './CommitPane';
import type { Commit, Ref } from './commits';
import { graphOf, type GraphRow } from './graph';
import { useHistory, type History } from './useHistory';
import '../../styles/files.css';
import '../../styles/review.css';

const ROW = 30;

export default function HistoryPane({ sandbox }: { readonly sandbox: Sandbox }) {
  const { sandbox_id: id, repos } = sandbox;
  const [repo, setRepo] = useState(0);
  const history = useHistory(id, repo, isLive(sandbox));
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <div className="history" {...panelOf('commits')}>
      <div className="history-list">
        {repos.length > 1 && (
          <div className="files-tools">
            <select
              aria-label={t`Repository`}
              value={repo}
              onChange={(event) => {
                setRepo(Number(event.target.value));
                setChosen(null);
              }}
            >
              {repos.map((one, i) => (
                <option key={one.path} value={i}>
                  {one.path}
                </option>
              ))}
            </select>
          </div>
        )}
        <Note history={history} />
        <CommitRows history={history} chosen={chosen} onChoose={setChosen} />
      </div>
      {chosen === null ? (
        <p className="files-empty quiet">{t`Choose a commit to see what it changed.`}</p>
      ) : (
        <CommitPane key={chosen} {...{ id, repo }} commit={chosen} onChoose={setChosen} />
      )}
    </div>
  );
}

function Note({ history: { page, list, problem } }: { readonly history: History }) {
  if (problem !== null) {
    return (
      <p className="files-note" role="alert">
        {visible(problem)}
      </p>
    );
  }
  if (list.length > 0) return null;
  return <p className="files-note quiet">{page === null ? t`Loading…` : t`No commits yet.`}</p>;
}

interface CommitRowsProps {
  readonly history: History;
  readonly chosen: string | null;
  readonly onChoose: (commit: string) => void;
}

function CommitRows({ history, chosen, onChoose }: CommitRowsProps) {
  const { page, list, more } = history;
  const prefix = useId();
  const rows = useMemo(() => graphOf(list), [list]);
  const refs = useMemo(() => refsBy(page?.refs ?? []), [page]);
  const [at, setAt] = useState<string | null>(null);
  const index = list.findIndex(({ commit }) => commit === at);
  const onRange = useCallback(
    (_: number, to: number) => {
      if (to >= list.length && list.length > 0) more();
    },
    [list, more],
  );
  if (list.length === 0) return null;

  function onKeyDown(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + 15,
      PageUp: index - 15,
      Home: 0,
      End: list.length - 1,
    };
    const to = steps[event.key];
    const next = to === undefined ? null : list[Math.min(list.length - 1, Math.max(0, to))];
    if (next != null) setAt(next.commit);
    else if ((event.key === 'Enter' || event.key === ' ') && at !== null) onChoose(at);
    else return;
    event.preventDefault();
  }

  return (
    <VirtualRows
      className="history-rows"
      role="listbox"
      aria-label={t`Commits`}
      aria-activedescendant={index >= 0 ? `${prefix}${index}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onFocus={() => {
        if (at === null) setAt(list[0]?.commit ?? null);
      }}
      count={list.length}
      height={ROW}
      at={index >= 0 ? index : null}
      onRange={onRange}
      render={(i) => {
        const commit = list[i];
        const row = rows[i];
        if (commit === undefined || row === undefined) return null;
        return (
          <CommitRow
            key={commit.commit}
            id={`${prefix}${i}`}
            {...{ commit, row }}
            refs={refs.get(commit.commit) ?? NO_REFS}
            isHead={page?.head === commit.commit}
            here={commit.commit === at}
            chosen={commit.commit === chosen}
            onChoose={() => {
              setAt(commit.commit);
              onChoose(commit.commit);
            }}
          />
        );
      }}
    />
  );
}

const NO_REFS: readonly Ref[] = [];

function refsBy(refs: readonly Ref[]): ReadonlyMap<string, readonly Ref[]> {
  const found = new Map<string, Ref[]>();
  for (const ref of refs) found.set(ref.commit, [...(found.get(ref.commit) ?? []), ref]);
  return found;
}

interface CommitRowProps {
  readonly id: string;
  readonly commit: Commit;
  readonly row: GraphRow;
  readonly refs: readonly Ref[];
  readonly isHead: boolean;
  readonly here: boolean;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}

/** Names shown at one commit; the others are in its title. */
const REFS_MAX = 3;

function CommitRow(props: CommitRowProps) {
  const { id, commit, row, refs, isHead, here, chosen, onChoose } = props;
  const at = new Date(commit.at);
  const names = refs.map(({ name }) => visible(name)).join(', ');
  return (
    <div
      id={id}
      className={here ? 'history-row files-here' : 'history-row'}
      role="option"
      aria-selected={chosen}
      title={[commit.commit.slice(0, 12), visible(commit.author), at.toLocaleString(), names]
        .filter((one) => one !== '')
        .join(' · ')}
      onClick={onChoose}
    >
      <Graph row={row} />
      {isHead && <span className="ref ref-head">HEAD</span>}
      {refs.slice(0, REFS_MAX).map((ref) => (
        <span key={`${ref.kind} ${ref.name}`} className={`ref ref-${ref.kind}`}>
          {visible(ref.name)}
        </span>
      ))}
      {refs.length > REFS_MAX && <span className="ref">+{refs.length - REFS_MAX}</span>}
      <span className="history-subject">{visible(commit.subject)}</span>
      <span className="history-side">{visible(commit.author)}</span>
      <time className="history-side history-date" dateTime={commit.at}>
        {at.toLocaleDateString()}
      </time>
    </div>
  );
}

const LANE = 14;

/** The lanes of one row. */
function Graph({ row }: { readonly row: GraphRow }) {
  const x = (lane: number): number => lane * LANE + LANE / 2;
  const width = row.width * LANE;
  return (
    <svg className="graph" width={width} height={ROW} aria-hidden="true">
      {row.lines.map(({ from, to, colour, half }) => {
        const [top, bottom] = half === 'top' ? [0, ROW / 2] : [ROW / 2, ROW];
        const middle = (top + bottom) / 2;
        return (
          <path
            key={`${half} ${from} ${to}`}
            className={`graph-${colour}`}
            d={`M${x(from)} ${top}C${x(from)} ${middle} ${x(to)} ${middle} ${x(to)} ${bottom}`}
          />
        );
      })}
      <circle className={`graph-${row.colour}`} cx={x(row.lane)} cy={ROW / 2} r={4} />
    </svg>
  );
}
