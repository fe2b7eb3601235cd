/** A search of names or contents, which runs inside; what is found shows as it is found. */

import { useEffect, useState } from 'react';
import { plural, t } from '../../language/t';
import { Icon } from '../parts/icons';
import { sizeWords } from '../parts/words';
import { visible } from '../../unseen';
import { files, type Found, type SearchEnd, type Wanted } from './calls';
import { type Place } from './tree';
import { VirtualRows } from './VirtualRows';

interface SearchPanelProps {
  readonly id: string;
  readonly folder: Place;
  readonly onFound: (place: Place, line: number | null, isFolder: boolean) => void;
  readonly onClose: () => void;
}

type Match = Exclude<Found, SearchEnd>;

interface Results {
  readonly matches: readonly Match[];
  readonly end: SearchEnd | null;
  readonly problem: string | null;
}

const NOTHING: Results = { matches: [], end: null, problem: null };
const WAIT_MS = 250;
/** Results that come together are drawn together. */
const DRAW_MS = 80;
const ROW = 44;
/** Characters before a match that leave room for it. */
const BEFORE_MAX = 24;

export function SearchPanel({ id, folder, onFound, onClose }: SearchPanelProps) {
  const [wanted, setWanted] = useState<Wanted>({
    text: '',
    where: 'name',
    exact: false,
    all: false,
  });
  const results = useSearch(id, folder, wanted);
  const change = (to: Partial<Wanted>): void => setWanted({ ...wanted, ...to });
  return (
    <div
      className="files-search"
      role="search"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onClose();
      }}
    >
      <input
        autoFocus
        type="search"
        className="files-query"
        aria-label={t`Search for`}
        placeholder={wanted.where === 'name' ? t`Part of a name` : t`Text in files`}
        maxLength={300}
        spellCheck={false}
        value={wanted.text}
        onChange={(event) => change({ text: event.target.value })}
      />
      <div className="files-choices">
        <select
          aria-label={t`Search in`}
          value={wanted.where}
          onChange={(event) => change({ where: event.target.value === 'text' ? 'text' : 'name' })}
        >
          <option value="name">{t`Names`}</option>
          <option value="text">{t`Contents`}</option>
        </select>
        <label className="check">
          <input
            type="checkbox"
            checked={wanted.exact}
            onChange={(event) => change({ exact: event.target.checked })}
          />
          {t`Match case`}
        </label>
        <label className="check" title={t`Also in .git, node_modules and caches of programs`}>
          <input
            type="checkbox"
            checked={wanted.all}
            onChange={(event) => change({ all: event.target.checked })}
          />
          {t`Everywhere`}
        </label>
      </div>
      <p className="files-note quiet" role="status">
        {wanted.text === '' ? '' : wordsOf(results)}
      </p>
      <ResultRows results={results} onFound={onFound} />
    </div>
  );
}

interface ResultRowsProps {
  readonly results: Results;
  readonly onFound: SearchPanelProps['onFound'];
}

function ResultRows({ results, onFound }: ResultRowsProps) {
  return (
    <VirtualRows
      className="files-results"
      role="list"
      aria-label={t`Found`}
      tabIndex={-1}
      count={results.matches.length}
      height={ROW}
      render={(i) => {
        const match = results.matches[i];
        return match === undefined ? null : <Result key={i} match={match} onFound={onFound} />;
      }}
    />
  );
}

function Result({ match, onFound }: { readonly match: Match } & Omit<ResultRowsProps, 'results'>) {
  const place = { path: match.path, exact: match.path_b64 ?? null };
  const isFolder = match.type === 'name' && match.kind === 'dir';
  return (
    <div role="listitem">
      <button
        type="button"
        className="files-result"
        title={visible(match.path)}
        onClick={() => onFound(place, match.type === 'line' ? match.line : null, isFolder)}
      >
        <Icon name={isFolder ? 'folder' : 'file'} />
        <span className="files-name">
          {visible(match.path)}
          {match.type === 'line' && <span className="files-side"> : {match.line}</span>}
        </span>
        {match.type === 'line' && (
          <code className="files-line">
            {visible(match.before).trimStart().slice(-BEFORE_MAX)}
            <mark>{visible(match.match)}</mark>
            {visible(match.after)}
          </code>
        )}
      </button>
    </div>
  );
}

/** What is found of what is wanted; a search that nobody waits for ends. */
function useSearch(id: string, folder: Place, wanted: Wanted): Results {
  const [results, setResults] = useState<Results>(NOTHING);
  useEffect(() => {
    const abort = new AbortController();
    const run = async (): Promise<void> => {
      const matches: Match[] = [];
      let drawn = 0;
      for await (const found of await files.search(id, folder, wanted, abort.signal)) {
        if (abort.signal.aborted) return;
        if (found.type === 'end') {
          setResults({ matches, end: found, problem: null });
          return;
        }
        matches.push(found);
        if (performance.now() - drawn < DRAW_MS) continue;
        drawn = performance.now();
        setResults({ matches: [...matches], end: null, problem: null });
      }
      setResults({ matches, end: null, problem: t`The search was cut off.` });
    };
    const timer = window.setTimeout(() => {
      setResults(NOTHING);
      if (wanted.text === '') return;
      run().catch((reason: unknown) => {
        const problem = reason instanceof Error ? reason.message : String(reason);
        if (!abort.signal.aborted) setResults({ ...NOTHING, problem });
      });
    }, WAIT_MS);
    return () => {
      window.clearTimeout(timer);
      abort.abort();
    };
  }, [id, folder, wanted]);
  return results;
}

/** How the search went, with what it left out. */
function wordsOf({ matches, end, problem }: Results): string {
  if (problem !== null) return problem;
  const count = plural(matches.length, { one: '# match', other: '# matches' });
  if (end === null) return t`Searching… ${count}`;
  const looked = t`${count} in ${end.files} ${end.bytes > 0 ? t`files, ${sizeWords(end.bytes)}` : t`names`}`;
  const reasons = {
    all: '',
    matches: t`there are more: narrow it down`,
    files: t`the rest has too many files: search a folder`,
    bytes: t`the rest is too large: search a folder`,
    time: t`it took too long: search a folder`,
  }[end.reason];
  const large = end.large > 0 ? t`left out for more than 16 MiB: ${end.large}` : '';
  const more = end.more > 0 ? t`files with more lines: ${end.more}` : '';
  return [looked, reasons, large, more].filter((one) => one !== '').join(' · ');
}
