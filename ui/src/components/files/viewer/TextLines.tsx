/** Lines of text with their numbers and colours; only those on the screen are drawn. */

import { useEffect, useMemo, useReducer, useRef, useState, type KeyboardEvent } from 'react';
import { t } from '../../../language/t';
import { visible } from '../../../unseen';
import { variables, VirtualRows } from '../VirtualRows';
import { found, lineAt, LINE_MAX, linesOf } from './lines';
import { Syntax } from './syntax';

interface TextLinesProps {
  readonly text: string;
  /** By its name it has its colours. */
  readonly path: string;
  /** Lines before this part. */
  readonly first: number;
  /** The line to show, from 1; null for the beginning. */
  readonly line: number | null;
}

const ROW = 20;
/** Lines that are worked out in one go. */
const GO = 4000;
const FOUND_MAX = 10_000;

export function TextLines({ text, path, first, line }: TextLinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => linesOf(text), [text]);
  const syntax = useMemo(() => new Syntax(path, lines), [path, lines]);
  const [wanted, setWanted] = useState<string | null>(null);
  const hits = useMemo(() => found(lines, wanted ?? '', FOUND_MAX), [lines, wanted]);
  const [hit, setHit] = useState(0);
  const shown = wanted !== null && hits.length > 0 ? (hits[hit % hits.length] ?? null) : null;
  const at = shown ?? (line === null ? null : line - 1 - first);
  useColours(syntax);
  const count = lines.starts.length;
  const digits = Math.max(3, String(first + count).length);

  function onKeyDown(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.key !== 'f') return;
    event.preventDefault();
    event.stopPropagation();
    setWanted((now) => now ?? '');
  }

  return (
    <div ref={box} className="viewer-text" onKeyDown={onKeyDown}>
      {wanted !== null && (
        <Find
          {...{ wanted, hits }}
          at={hit}
          onWant={(words) => {
            setWanted(words);
            setHit(0);
          }}
          onStep={(by) => setHit((now) => (now + by + hits.length) % Math.max(1, hits.length))}
          onClose={() => {
            setWanted(null);
            box.current?.querySelector<HTMLElement>('.viewer-lines')?.focus();
          }}
        />
      )}
      <VirtualRows
        key={`${line}`}
        className="viewer-lines"
        role="group"
        aria-label={t`Lines of ${visible(path)}`}
        tabIndex={0}
        style={variables({ '--digits': digits })}
        count={count}
        height={ROW}
        at={at}
        render={(row) => (
          <LineRow
            key={row}
            number={first + row + 1}
            text={lineAt(lines, row)}
            pieces={syntax.pieces(row, visibleLine(lineAt(lines, row)))}
            here={row === at}
          />
        )}
      />
    </div>
  );
}

/** Draws anew while more of the colours become known. */
function useColours(syntax: Syntax): void {
  const [, draw] = useReducer((now: number) => now + 1, 0);
  useEffect(() => {
    let timer: number | undefined;
    let drawn = performance.now();
    const go = (): void => {
      const more = syntax.advance(GO);
      if (!more || performance.now() - drawn > 300) {
        drawn = performance.now();
        draw();
      }
      if (more) timer = window.setTimeout(go, 4);
    };
    go();
    return () => window.clearTimeout(timer);
  }, [syntax]);
}

function visibleLine(text: string): string {
  return visible(text.slice(0, LINE_MAX));
}

interface LineRowProps {
  readonly number: number;
  readonly text: string;
  readonly pieces: ReturnType<Syntax['pieces']>;
  readonly here: boolean;
}

function LineRow({ number, text, pieces, here }: LineRowProps) {
  const more = text.length - LINE_MAX;
  return (
    <div className={here ? 'viewer-line viewer-here' : 'viewer-line'}>
      <span className="viewer-number">{number}</span>
      <code>
        {pieces.map(([colour, piece], i) =>
          colour === null ? (
            piece
          ) : (
            <span key={i} className={`code-${colour}`}>
              {piece}
            </span>
          ),
        )}
        {more > 0 && <span className="viewer-more"> {t`… ${more} more characters`}</span>}
      </code>
    </div>
  );
}

interface FindProps {
  readonly wanted: string;
  readonly hits: readonly number[];
  readonly at: number;
  readonly onWant: (words: string) => void;
  readonly onStep: (by: number) => void;
  readonly onClose: () => void;
}

/** Finds text in what is shown: the browser's own search sees only the lines on the screen. */
function Find({ wanted, hits, at, onWant, onStep, onClose }: FindProps) {
  const words =
    wanted === '' ? '' : hits.length === 0 ? t`Nothing` : t`${at + 1} of ${hits.length}`;
  return (
    <div
      className="viewer-find"
      role="search"
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
        else if (event.key === 'Enter') onStep(event.shiftKey ? -1 : 1);
        else return;
        event.stopPropagation();
      }}
    >
      <input
        autoFocus
        type="search"
        aria-label={t`Find in this file`}
        placeholder={t`Find in this file`}
        maxLength={300}
        spellCheck={false}
        value={wanted}
        onChange={(event) => onWant(event.target.value)}
      />
      <span className="quiet" role="status">
        {words}
      </span>
      <button type="button" className="button button-small" onClick={onClose}>
        {t`Done`}
      </button>
    </div>
  );
}
