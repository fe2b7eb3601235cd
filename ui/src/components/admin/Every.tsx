/** Every sandbox of the organization: filtered and sorted by the server, drawn as far as in view. */

import { useEffect, useRef, useState } from 'react';
import type { Overseen, OverseenQuery, SortKey } from '../../api/overview';
import type { SandboxState } from '../../api/types';
import { spoken, t, worded } from '../../language/t';
import { drawn } from '../../state/overview/rows';
import { useStore } from '../../state/store';
import { team } from '../../state/team/team';
import { Icon } from '../parts/icons';
import { stateWords } from '../sandboxes/StateMark';
import { EndDialog } from './EndDialog';
import { EveryRow } from './EveryRow';
import { Failed } from './Failed';
import { useEvery, type EveryRows } from './useEvery';
import { useSize } from './useSize';

const ALL: OverseenQuery = { text: '', states: [], owner: '', sort: 'created', descending: true };

const COLUMNS = worded<readonly { key: SortKey | null; words: string; className: string }[]>(() => [
  { key: 'name', words: t`Name`, className: 'every-name' },
  { key: 'state', words: t`State`, className: 'every-state' },
  { key: 'owner', words: t`Owner`, className: 'every-owner' },
  { key: 'created', words: t`Age`, className: 'every-age' },
  { key: null, words: t`Agents`, className: 'every-agents' },
  { key: 'tokens', words: t`Tokens`, className: 'every-tokens' },
  { key: 'traffic', words: t`Traffic`, className: 'every-traffic' },
]);

const FILTERS = worded<readonly { words: string; states: readonly SandboxState[] }[]>(() => [
  { words: t`Running`, states: ['requested', 'provisioning', 'ready', 'active'] },
  { words: t`Stopped`, states: ['stopped'] },
  { words: t`Ended`, states: ['expired', 'failed', 'destroying'] },
  { words: t`Destroyed`, states: ['destroyed'] },
]);

/** Below this width a row is a card of two lines and its acts. */
const NARROW = 700;
const ROW = 46;
const CARD = 118;

export function Every({ organization }: { readonly organization: string }) {
  const [query, setQuery] = useState(ALL);
  const [top, setTop] = useState(0);
  const [ending, setEnding] = useState<{ row: Overseen; act: 'stop' | 'destroy' } | null>(null);
  const view = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(view);
  const narrow = width > 0 && width < NARROW;
  const tall = narrow ? CARD : ROW;
  const settled = useSettled(query);
  const [total, setTotal] = useState(0);
  const span = drawn(top, height, tall, total);
  const rows = useEvery(organization, settled, span);
  if (rows.total !== null && rows.total !== total) setTotal(rows.total);

  function change(next: Partial<OverseenQuery>): void {
    setQuery((now) => ({ ...now, ...next }));
    view.current?.scrollTo({ top: 0 });
  }

  return (
    <>
      <Filters {...{ query, rows }} onChange={change} />
      {rows.problem !== null && (
        <Failed what={t`The list`} problem={rows.problem} onRetry={rows.reload} />
      )}
      {narrow && <SortChoice query={query} onChange={change} />}
      <div
        className={narrow ? 'every every-narrow' : 'every'}
        role="table"
        aria-label={t`Every sandbox`}
        aria-rowcount={(rows.total ?? 0) + 1}
        aria-busy={rows.total === null}
      >
        {!narrow && <Head query={query} onChange={change} />}
        <div
          ref={view}
          className="every-view"
          role="rowgroup"
          tabIndex={0}
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        >
          <div className="every-all" role="presentation" style={{ height: total * tall }}>
            {Array.from({ length: span.end - span.begin }, (_, at) => span.begin + at).map(
              (index) => (
                <EveryRow
                  key={index}
                  {...{ index, tall, narrow }}
                  row={rows.row(index)}
                  onEnd={(row, act) => setEnding({ row, act })}
                />
              ),
            )}
          </div>
          {rows.total === 0 && <Nothing query={query} onClear={() => change(ALL)} />}
        </div>
      </div>
      {ending !== null && (
        <EndDialog
          {...ending}
          organization={organization}
          onClose={() => setEnding(null)}
          onDone={rows.keep}
        />
      )}
    </>
  );
}

/** The query once nobody types at it any more; sorting and states count at once. */
function useSettled(query: OverseenQuery): OverseenQuery {
  const [text, setText] = useState(query.text);
  useEffect(() => {
    const timer = window.setTimeout(() => setText(query.text), 200);
    return () => window.clearTimeout(timer);
  }, [query.text]);
  return { ...query, text };
}

interface FiltersProps {
  readonly query: OverseenQuery;
  readonly rows: EveryRows;
  readonly onChange: (next: Partial<OverseenQuery>) => void;
}

function Filters({ query, rows, onChange }: FiltersProps) {
  const ours = useStore(team);
  const people = ours?.members ?? [];
  const same = (states: readonly SandboxState[]): boolean =>
    states.join(' ') === query.states.join(' ');
  const count = (states: readonly SandboxState[]): number =>
    states.reduce((sum, state) => sum + (rows.tally[state] ?? 0), 0);
  return (
    <div className="every-filters">
      <label className="rail-filter every-search">
        <Icon name="search" />
        <span className="spoken">{t`Part of the name`}</span>
        <input
          type="search"
          placeholder={t`Name`}
          maxLength={200}
          value={query.text}
          onChange={(event) => onChange({ text: event.target.value })}
        />
      </label>
      {people.length > 1 && (
        <select
          aria-label={t`Owner`}
          value={query.owner}
          onChange={(event) => onChange({ owner: event.target.value })}
        >
          <option value="">{t`All owners`}</option>
          {people.map(({ member_id: id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      <div className="every-states" role="group" aria-label={t`States`}>
        {FILTERS().map(({ words, states }) => (
          <button
            key={words}
            type="button"
            className="every-chip"
            aria-pressed={same(states)}
            onClick={() => onChange({ states: same(states) ? [] : states })}
          >
            {words} <span className="quiet">{count(states)}</span>
          </button>
        ))}
      </div>
      <p className="quiet every-total" role="status">
        {rows.total === null ? t`Counting…` : t`${rows.total.toLocaleString(spoken())} shown`}
      </p>
    </div>
  );
}

interface HeadProps {
  readonly query: OverseenQuery;
  readonly onChange: (next: Partial<OverseenQuery>) => void;
}

/** The order by another column, or the other way round by the same one. */
function sortedBy(query: OverseenQuery, key: SortKey): Partial<OverseenQuery> {
  if (key === query.sort) return { descending: !query.descending };
  return { sort: key, descending: !['name', 'owner', 'state'].includes(key) };
}

/** The order, where there is no row of columns to choose it by. */
function SortChoice({ query, onChange }: HeadProps) {
  const sortBy = (key: SortKey): void => onChange(sortedBy(query, key));
  return (
    <div className="every-sort">
      <label className="quiet">
        {t`Sorted by`}{' '}
        <select value={query.sort} onChange={(event) => sortBy(event.target.value as SortKey)}>
          {COLUMNS().flatMap(({ key, words }) =>
            key === null
              ? []
              : [
                  <option key={key} value={key}>
                    {words}
                  </option>,
                ],
          )}
        </select>
      </label>
      <button
        type="button"
        className="button-icon"
        aria-label={query.descending ? t`Lowest first` : t`Highest first`}
        onClick={() => onChange({ descending: !query.descending })}
      >
        <Icon name={query.descending ? 'down' : 'up'} />
      </button>
    </div>
  );
}

function Head({ query, onChange }: HeadProps) {
  const sortBy = (key: SortKey): void => onChange(sortedBy(query, key));
  return (
    <div className="every-head" role="rowgroup">
      <div className="every-row" role="row" aria-rowindex={1}>
        {COLUMNS().map(({ key, words, className }) => (
          <div
            key={words}
            role="columnheader"
            className={className}
            aria-sort={
              key === query.sort ? (query.descending ? 'descending' : 'ascending') : undefined
            }
          >
            {key === null ? (
              words
            ) : (
              <button type="button" className="every-key" onClick={() => sortBy(key)}>
                {words}
                {key === query.sort && <Icon name={query.descending ? 'down' : 'up'} />}
              </button>
            )}
          </div>
        ))}
        <div role="columnheader" className="every-acts">
          <span className="spoken">{t`Acts`}</span>
        </div>
      </div>
    </div>
  );
}

interface NothingProps {
  readonly query: OverseenQuery;
  readonly onClear: () => void;
}

function Nothing({ query, onClear }: NothingProps) {
  const filtered = query.text !== '' || query.owner !== '' || query.states.length > 0;
  const states = query.states.map((state) => stateWords()[state].toLowerCase()).join(', ');
  return (
    <div className="empty every-none">
      <p>
        {filtered
          ? t`No sandbox fits${states === '' ? '' : `: ${states}`}.`
          : t`There is no sandbox yet. What anybody makes is shown here.`}
      </p>
      {filtered && (
        <button type="button" className="button button-small" onClick={onClear}>
          {t`Show all`}
        </button>
      )}
    </div>
  );
}
