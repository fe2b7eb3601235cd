/** One file: text with colours, Markdown, a table, an image, or what else it is.
 *
 * Nothing of it runs and nothing is fetched for it: text becomes text nodes, an image is data of
 * the kind that its first bytes say.
 */

import { useState } from 'react';
import { Problem } from '../../../api/call';
import { t } from '../../../language/t';
import { notify } from '../../../state/announce';
import { sizeWords } from '../../parts/words';
import { visible } from '../../../unseen';
import type { Chosen } from '../FileExplorer';
import { save } from '../transfers';
import { folderOf, nameOf, type Place } from '../tree';
import { ImagePane } from './ImagePane';
import { Markdown } from './Markdown';
import { PdfPane } from './PdfPane';
import { TablePane } from './TablePane';
import { TextLines } from './TextLines';
import { useFile, type Begin, type Part } from './useFile';

interface FileViewerProps {
  readonly id: string;
  readonly live: boolean;
  readonly owns: boolean;
  readonly chosen: Chosen;
  readonly onOpen: (chosen: Chosen) => void;
}

const START: Begin = { byte: 0, line: 0 };

/** Another file has a viewer of its own. */
export function FileViewer(props: FileViewerProps) {
  const { path, exact } = props.chosen.place;
  return <Viewer key={`${path}\0${exact}`} {...props} />;
}

function Viewer({ id, live, owns, chosen, onOpen }: FileViewerProps) {
  const [place] = useState(chosen.place);
  // The beginnings of the parts that were read, up to this one.
  const [begins, setBegins] = useState<readonly Begin[]>([START]);
  const [secrets, setSecrets] = useState(false);
  const [raw, setRaw] = useState(false);
  const begin = begins.at(-1) ?? START;
  const { part, problem } = useFile({ id, place, begin, secrets }, live);
  const line = chosen.line;
  return (
    <section className="viewer" aria-label={t`File ${visible(nameOf(place.path))}`}>
      <Head
        {...{ place, part, raw }}
        onRaw={line === null ? setRaw : null}
        onDownload={() => void download(id, place, secrets)}
      />
      {problem !== null && (
        <Trouble problem={problem} owns={owns} onAnyway={() => setSecrets(true)} />
      )}
      {problem === null && part === null && <p className="viewer-note quiet">{t`Loading…`}</p>}
      {part !== null && (
        <>
          <Body part={part} place={place} line={line} raw={raw || line !== null} onOpen={onOpen} />
          <Parts
            part={part}
            lines={countOf(part)}
            onBack={begins.length > 1 ? () => setBegins(begins.slice(0, -1)) : null}
            onNext={(next) => setBegins([...begins, next])}
          />
        </>
      )}
    </section>
  );
}

interface HeadProps {
  readonly place: Place;
  readonly part: Part | null;
  readonly raw: boolean;
  /** Null where a line of its source is shown. */
  readonly onRaw: ((raw: boolean) => void) | null;
  readonly onDownload: () => void;
}

function Head({ place, part, raw, onRaw, onDownload }: HeadProps) {
  const folder = folderOf(place.path);
  const rendered = part?.kind === 'markdown' || part?.kind === 'table';
  return (
    <header className="viewer-head">
      <h2 title={visible(place.path)}>
        {folder !== '' && <span className="quiet">{visible(folder)}/</span>}
        {visible(nameOf(place.path))}
      </h2>
      {part !== null && <span className="quiet">{sizeWords(part.entry.size)}</span>}
      {rendered && onRaw !== null && (
        <label className="check">
          <input type="checkbox" checked={raw} onChange={(event) => onRaw(event.target.checked)} />
          {t`Source`}
        </label>
      )}
      <button type="button" className="button button-small" onClick={onDownload}>
        {t`Download`}
      </button>
    </header>
  );
}

async function download(id: string, place: Place, secrets: boolean): Promise<void> {
  const refusal = await save(id, place, false, secrets);
  if (refusal !== null) notify(t`Not downloaded: ${refusal.message}`, 'bad');
}

interface TroubleProps {
  readonly problem: Error;
  readonly owns: boolean;
  readonly onAnyway: () => void;
}

function Trouble({ problem, owns, onAnyway }: TroubleProps) {
  const holds = problem instanceof Problem && problem.code === 'holds_secret';
  return (
    <div className="viewer-note" role="alert">
      <p>{holds ? t`This file holds a value of its owner’s secrets.` : visible(problem.message)}</p>
      {holds && owns && (
        <button type="button" className="button button-small" onClick={onAnyway}>
          {t`Show it with its secrets`}
        </button>
      )}
    </div>
  );
}

interface BodyProps {
  readonly part: Part;
  readonly place: Place;
  readonly line: number | null;
  readonly raw: boolean;
  readonly onOpen: (chosen: Chosen) => void;
}

function Body({ part, place, line, raw, onOpen }: BodyProps) {
  const { kind, size } = part;
  if (size === 0) return <p className="viewer-note quiet">{t`This file is empty.`}</p>;
  if (kind === 'binary') {
    return <p className="viewer-note quiet">{t`This file is binary: it can be downloaded.`}</p>;
  }
  if (part.bytes.length === 0) {
    return <p className="viewer-note quiet">{t`It is too large to be shown: download it.`}</p>;
  }
  if (kind === 'pdf') return <PdfPane key={size} bytes={part.bytes} name={visible(place.path)} />;
  if (kind === 'image') return <ImagePane bytes={part.bytes} name={visible(place.path)} />;
  if (kind === 'markdown' && !raw) {
    return <Markdown text={part.text} path={place.path} onOpen={onOpen} />;
  }
  if (kind === 'table' && !raw) return <TablePane text={part.text} />;
  return <TextLines text={part.text} path={place.path} first={part.begin.line} line={line} />;
}

function countOf({ text }: Part): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

interface PartsProps {
  readonly part: Part;
  readonly lines: number;
  readonly onBack: (() => void) | null;
  readonly onNext: (begin: Begin) => void;
}

/** The way through a file that is too large to be shown at once. */
function Parts({ part, lines, onBack, onNext }: PartsProps) {
  const { begin, next, size, bytes } = part;
  if (next === null && onBack === null) return null;
  const end = begin.byte + bytes.length;
  return (
    <nav className="viewer-parts" aria-label={t`Parts of the file`}>
      <button
        type="button"
        className="button button-small"
        disabled={onBack === null}
        onClick={onBack ?? undefined}
      >
        {t`Back`}
      </button>
      <span className="quiet">
        {t`${sizeWords(begin.byte)} to ${sizeWords(end)} of ${sizeWords(size)}`}
      </span>
      <button
        type="button"
        className="button button-small"
        disabled={next === null}
        onClick={() => {
          if (next !== null) onNext({ byte: next, line: begin.line + lines });
        }}
      >
        {t`Next`}
      </button>
    </nav>
  );
}
