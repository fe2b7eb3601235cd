/** The diff of one file: only the rows on the screen are drawn, so that long files stay smooth. */

import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { t } from '../../../language/t';
import { coloured, commentOf } from './colours';
import type { PlacedThread } from '../threads';
import type { Part, SideWords } from './conflicts';
import {
  HEIGHTS,
  offsetsOf,
  placeOf,
  rowsOf,
  widestOf,
  windowOf,
  type FileDiff,
  type Line,
  type Row,
} from './rows';
import { useDraft } from '../../../state/drafts';
import { visible } from '../../../unseen';
import { ThreadRow, type ThreadActs } from './ThreadRow';
import type { Editing } from './useLines';

interface DiffViewProps {
  readonly file: FileDiff;
  readonly split: boolean;
  /** The names of the sides of a file in conflict. */
  readonly sides?: SideWords | null;
  readonly threads: readonly PlacedThread[];
  readonly editing: Editing | null;
  /** Names the file among all; for what is written in it. */
  readonly place?: string;
  /** The row the keyboard is at. */
  readonly cursor: number;
  readonly onRows: (rows: readonly Row[]) => void;
  /** Begins or ends a comment; null where this person makes none. */
  readonly onEdit: ((at: Editing | null) => void) | null;
  /** Saves what was written. Returns whether that succeeded. */
  readonly onSave: (words: string) => Promise<boolean>;
  /** What this person does with threads; null for whoever only reads. */
  readonly acts: ThreadActs | null;
  /** Discards a hunk, by its place in the file; null where that is not possible. */
  readonly onDiscard: ((hunk: number) => void) | null;
}

export function DiffView(props: DiffViewProps) {
  const { file, split, sides = null, threads, editing, cursor, onRows } = props;
  const box = useRef<HTMLDivElement>(null);
  const rows = useMemo(
    () => rowsOf(file, split, { threads, editing }, sides !== null),
    [file, split, threads, editing, sides],
  );
  const offsets = useMemo(() => offsetsOf(rows), [rows]);
  const widest = useMemo(() => widestOf(rows), [rows]);
  const [from, to] = useWindow(box, offsets);
  const colours = useMemo(() => commentOf(file.path), [file.path]);
  useEffect(() => onRows(rows), [rows, onRows]);
  useEffect(() => {
    const element = box.current;
    const top = offsets[cursor];
    if (element === null || top === undefined || cursor === 0) return;
    const end = element.scrollTop + element.clientHeight - 2 * HEIGHTS.line;
    if (top < element.scrollTop || top > end) element.scrollTop = top - element.clientHeight / 2;
  }, [cursor, offsets]);

  return (
    <div
      ref={box}
      className="diff"
      tabIndex={0}
      role="group"
      aria-label={t`Changes of ${visible(file.path)}`}
    >
      <div className="diff-all" style={{ height: offsets.at(-1), ...{ '--widest': widest } }}>
        <div className="diff-rows" style={{ transform: `translateY(${offsets[from] ?? 0}px)` }}>
          {rows.slice(from, to).map((row, i) => (
            <RowView
              key={from + i}
              row={row}
              here={from + i === cursor}
              colours={colours}
              sides={sides}
              editing={row.kind === 'editor' ? editing : null}
              {...{
                place: props.place ?? '',
                onEdit: props.onEdit,
                onSave: props.onSave,
                acts: props.acts,
                onDiscard: props.onDiscard,
              }}
            />
          ))}
        </div>
      </div>
      {file.truncated && (
        <p className="quiet">{t`The rest of this file is too long to be shown.`}</p>
      )}
    </div>
  );
}

/** The rows on the screen, and some around them. Both sides of a pair go across together: they stay
 *  where they are, and their lines follow the place. */
function useWindow(
  box: React.RefObject<HTMLDivElement | null>,
  offsets: readonly number[],
): readonly [number, number] {
  const [place, setPlace] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = (): void => {
      setPlace({ top: element.scrollTop, height: element.clientHeight });
      element.style.setProperty('--across', `${-element.scrollLeft}px`);
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [box]);
  return windowOf(offsets, place.top, place.height);
}

interface RowProps {
  readonly row: Row;
  readonly here: boolean;
  readonly colours: RegExp | null;
  readonly sides: SideWords | null;
  readonly place: string;
  /** What an editor is for. */
  readonly editing: Editing | null;
  readonly onEdit: DiffViewProps['onEdit'];
  readonly onSave: DiffViewProps['onSave'];
  readonly acts: ThreadActs | null;
  readonly onDiscard: ((hunk: number) => void) | null;
}

const RowView = memo(function RowView(props: RowProps) {
  const { row, here, colours, place, onEdit, onSave, onDiscard } = props;
  const mark = here ? ' diff-here' : '';
  switch (row.kind) {
    case 'hunk':
      return (
        <div className={`diff-hunk${mark}`}>
          <span>{visible(row.words)}</span>
          {onDiscard !== null && (
            <button type="button" className="diff-discard" onClick={() => onDiscard(row.hunk)}>
              {t`Discard`}
            </button>
          )}
        </div>
      );
    case 'line':
      return <LineRow {...{ row, mark, colours, onEdit }} />;
    case 'side':
      return <SideHead part={row.part} marker={row.marker} {...{ mark }} sides={props.sides} />;
    case 'sides':
      return (
        <div className={`diff-pair${mark}`}>
          <SideHead part="ours" marker={row.ours} sides={props.sides} />
          <SideHead part="theirs" marker={row.theirs} sides={props.sides} />
        </div>
      );
    case 'pair':
      return (
        <div className={`diff-pair${mark}`}>
          <HalfRow line={row.left} half="left" of={row.of} {...{ colours, onEdit }} />
          <HalfRow line={row.right} half="right" of={row.of} {...{ colours, onEdit }} />
        </div>
      );
    case 'thread':
      return <ThreadRow {...{ row, mark, onEdit }} acts={props.acts} />;
    case 'editor':
      return (
        <Editor
          key={draftOf(place, props.editing)}
          {...{ editing: props.editing, place, onSave }}
          onCancel={() => onEdit?.(null)}
        />
      );
  }
});

interface LineRowProps extends Pick<RowProps, 'colours' | 'onEdit'> {
  readonly row: Row & { readonly kind: 'line' };
  readonly mark: string;
}

/** A line; one of a side of a conflict is of that side, not added. */
function LineRow({ row: { line, part }, mark, colours, onEdit }: LineRowProps) {
  const shown = part === null ? line : { ...line, sign: ' ' };
  return (
    <div className={`diff-row ${part === null ? classOf(line) : `diff-${part}`}${mark}`}>
      <Numbers line={line} onEdit={onEdit} />
      <Code line={shown} colours={colours} />
    </div>
  );
}

interface HalfRowProps extends Pick<RowProps, 'colours' | 'onEdit'> {
  readonly line: Line | null;
  readonly half: 'left' | 'right';
  readonly of: (Row & { readonly kind: 'pair' })['of'];
}

/** One of two lines beside each other; both sides of a conflict have the numbers of the file. */
function HalfRow({ line, half, of, colours, onEdit }: HalfRowProps) {
  if (line === null) return <div className="diff-row diff-none" />;
  const conflict = of === 'conflict';
  const side = half === 'left' ? 'diff-ours' : 'diff-theirs';
  return (
    <div className={`diff-row ${conflict ? side : classOf(line)}`}>
      <Number line={line} left={half === 'left' && !conflict} onEdit={onEdit} />
      <div className="diff-across">
        <Code line={conflict ? { ...line, sign: ' ' } : line} colours={colours} />
      </div>
    </div>
  );
}

interface SideHeadProps extends Pick<RowProps, 'sides'> {
  readonly part: Part;
  readonly marker: string;
  readonly mark?: string;
}

function SideHead({ part, marker, mark = '', sides }: SideHeadProps) {
  return (
    <div className={`diff-side diff-${part ?? 'same'}${mark}`}>
      <strong>{part !== null && visible(sides?.[part] ?? '')}</strong>
      <span>{visible(marker)}</span>
    </div>
  );
}

function classOf(line: Line): string {
  return { '+': 'diff-added', '-': 'diff-removed' }[line.sign] ?? 'diff-same';
}

interface NumberProps {
  readonly line: Line;
  /** Whether this is the old side, which has numbers of its own. */
  readonly left?: boolean;
  readonly onEdit: RowProps['onEdit'];
}

/** Both numbers of a line in one column; the one of its own side takes comments. */
function Numbers({ line, onEdit }: NumberProps) {
  if (line.sign === '-') {
    return (
      <>
        <Number line={line} left onEdit={onEdit} />
        <span className="diff-number" />
      </>
    );
  }
  return (
    <>
      <span className="diff-number">{line.old}</span>
      <Number line={line} onEdit={onEdit} />
    </>
  );
}

function Number({ line, left = false, onEdit }: NumberProps) {
  const place = placeOf(line);
  if (place === null) return <span className="diff-number" />;
  const number = left ? line.old : place.line;
  if (onEdit === null) return <span className="diff-number">{number}</span>;
  return (
    <button
      type="button"
      className="diff-number"
      tabIndex={-1}
      aria-label={
        place.side === 'old'
          ? t`Comment on removed line ${place.line}`
          : t`Comment on line ${place.line}`
      }
      onClick={() => onEdit({ ...place, text: line.text })}
    >
      {number}
    </button>
  );
}

function Code({ line, colours }: { readonly line: Line; readonly colours: RegExp | null }) {
  const text = visible(line.text);
  const pieces = colours === null ? [[null, text] as const] : coloured(text, colours);
  return (
    <code>
      <span className="diff-sign">{line.sign}</span>
      {pieces.map(([colour, piece], i) =>
        colour === null ? (
          piece
        ) : (
          <span key={i} className={`code-${colour}`}>
            {piece}
          </span>
        ),
      )}
    </code>
  );
}

interface EditorProps {
  readonly editing: Editing | null;
  /** Names the file, for what is begun and not saved. */
  readonly place: string;
  readonly onSave: DiffViewProps['onSave'];
  readonly onCancel: () => void;
}

function Editor({ editing, place, onSave, onCancel }: EditorProps) {
  const before = editing?.remark?.text ?? '';
  const answers = editing?.thread !== undefined && editing.remark === undefined;
  const [words, setWords] = useDraft(draftOf(place, editing), before);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const save = async (): Promise<void> => {
    // What was not saved is still there, in the field or where it is opened again.
    if (words.trim() !== '' && (await onSave(words))) setWords('');
  };
  const cancel = (): void => {
    setWords('');
    onCancel();
  };
  return (
    <form
      className="diff-editor"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') cancel();
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void save();
      }}
    >
      <textarea
        ref={field}
        aria-label={t`Comment`}
        maxLength={4000}
        placeholder={answers ? t`Your answer` : t`What should change here?`}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <div className="diff-editor-acts">
        <button type="submit" className="button button-small" disabled={words.trim() === ''}>
          {answers ? t`Add answer` : before === '' ? t`Add comment` : t`Change comment`}
        </button>
        <button type="button" className="button button-small" onClick={cancel}>
          {t`Cancel`}
        </button>
      </div>
    </form>
  );
}

/** The place of a draft: each line, each thread and each remark has one. */
function draftOf(place: string, editing: Editing | null): string {
  const { side, line, thread, remark } = editing ?? { side: 'new', line: 0 };
  return ['remark', place, remark?.remark_id ?? thread?.thread_id ?? `${side}:${line}`].join(' ');
}
