/** Rich text as it is read: text nodes alone, and links that lead to the web. */

import { memo } from 'react';
import type * as Y from 'yjs';
import { linesOf, runsOf, type Line, type Run } from '../document/rich';
import { runClass } from './lines';

interface RichLinesProps {
  readonly text: Y.Text | null;
  /** Grows with each change of the text, which itself stays the same value. */
  readonly rev: number;
  readonly placeholder: string;
}

export const RichLines = memo(function RichLines({ text, placeholder }: RichLinesProps) {
  const runs = text === null ? [] : runsOf(text);
  if (runs.length === 0) return <p className="rich-placeholder">{placeholder}</p>;
  return (
    <div className="rich-text">
      {linesOf(runs).map((line) => (
        <LineView key={line.start} line={line} />
      ))}
    </div>
  );
});

function LineView({ line }: { readonly line: Line }) {
  return (
    <div className={`rich-line rich-${line.style}`}>
      {line.length === 0 ? <br /> : line.runs.map((run, at) => <RunView key={at} run={run} />)}
    </div>
  );
}

function RunView({ run }: { readonly run: Run }) {
  const { text, link } = run;
  const name = runClass(run) || undefined;
  if (link === undefined) return <span className={name}>{text}</span>;
  return (
    <a className={name} href={link} title={link} target="_blank" rel="noopener noreferrer">
      {text}
    </a>
  );
}
