/**
 * Rich text of notes: runs with marks, and lines with a style. Pure.
 *
 * The document holds it as a Y.Text with the attributes of Quill: marks on letters, and a line's
 * style on the line break that ends it. Text is only ever text; a link is followed only where
 * `safeAddress` knows it.
 */

import type * as Y from 'yjs';

import { safeAddress } from './links';

export const MARKS = ['bold', 'italic', 'code'] as const;
export type Mark = (typeof MARKS)[number];
export type LineStyle = 'plain' | 'heading' | 'bullet' | 'ordered';

export interface Run {
  readonly text: string;
  readonly bold?: boolean;
  readonly italic?: boolean;
  readonly code?: boolean;
  readonly link?: string;
  /** Of a run that is a line break: how the line before it looks. */
  readonly line?: LineStyle;
}

export interface Line {
  readonly style: LineStyle;
  readonly runs: readonly Run[];
  /** Where it begins in the text, and how long it is without its break. */
  readonly start: number;
  readonly length: number;
}

/** The attributes of a line's break, by its style; null takes one away. */
const LINE_ATTRIBUTES: Readonly<Record<LineStyle, Readonly<Record<string, unknown>>>> = {
  plain: { header: null, list: null },
  heading: { header: 1, list: null },
  bullet: { header: null, list: 'bullet' },
  ordered: { header: null, list: 'ordered' },
};

/** What a text consists of. */
export function runsOf(text: Y.Text): readonly Run[] {
  const parts = text.toDelta() as readonly { insert?: unknown; attributes?: unknown }[];
  return parts.map(({ insert, attributes }) => runOf(insert, attributes));
}

/** All of a text without its marks. */
export function wordsOf(text: Y.Text | null): string {
  return text === null
    ? ''
    : runsOf(text)
        .map((run) => run.text)
        .join('');
}

function runOf(insert: unknown, attributes: unknown): Run {
  // Something that is no text takes one place, as in the document.
  if (typeof insert !== 'string') return { text: '\uFFFC' };
  const said = (typeof attributes === 'object' && attributes !== null ? attributes : {}) as Record<
    string,
    unknown
  >;
  const link = typeof said['link'] === 'string' ? safeAddress(said['link']) : null;
  const line = styleOf(said);
  return {
    text: insert,
    ...(said['bold'] === true ? { bold: true } : {}),
    ...(said['italic'] === true ? { italic: true } : {}),
    ...(said['code'] === true ? { code: true } : {}),
    ...(link === null ? {} : { link }),
    ...(line === 'plain' ? {} : { line }),
  };
}

function styleOf(attributes: Readonly<Record<string, unknown>>): LineStyle {
  if (attributes['header'] !== undefined && attributes['header'] !== null) return 'heading';
  if (attributes['list'] === 'bullet') return 'bullet';
  return attributes['list'] === 'ordered' ? 'ordered' : 'plain';
}

/** The lines of a text; an empty one has one empty line. */
export function linesOf(runs: readonly Run[]): readonly Line[] {
  const lines: Line[] = [];
  let [now, start, length]: [Run[], number, number] = [[], 0, 0];
  const end = (style: LineStyle): void => {
    lines.push({ style, runs: now, start, length });
    [now, start, length] = [[], start + length + 1, 0];
  };
  for (const run of runs) {
    for (const [at, part] of run.text.split('\n').entries()) {
      if (at > 0) end(run.line ?? 'plain');
      if (part === '') continue;
      now.push({ ...run, text: part });
      length += part.length;
    }
  }
  // A last line without a break has no style of its own: nothing can carry it.
  lines.push({ style: 'plain', runs: now, start, length });
  return lines;
}

/** The attributes that letters of this run have in the document. */
export function attributesOf(run: Omit<Run, 'text'>): Record<string, unknown> {
  const marks = Object.fromEntries(MARKS.filter((mark) => run[mark]).map((mark) => [mark, true]));
  const line = run.line === undefined ? {} : LINE_ATTRIBUTES[run.line];
  const set = Object.entries(line).filter(([, value]) => value !== null);
  return {
    ...marks,
    ...(run.link === undefined ? {} : { link: run.link }),
    ...Object.fromEntries(set),
  };
}

/** Writes runs into a text. */
export function applyRuns(text: Y.Text, at: number, runs: readonly Run[]): void {
  let place = at;
  for (const run of runs) {
    if (run.text === '') continue;
    text.insert(place, run.text, attributesOf(run));
    place += run.text.length;
  }
}

/** The marks that all letters between two places have; at one place, the letter before it. */
export function marksAt(runs: readonly Run[], from: number, to: number): ReadonlySet<Mark> {
  const [begin, end] = from === to ? [Math.max(0, from - 1), Math.max(1, from)] : [from, to];
  const marks = new Set<Mark>(MARKS);
  let [place, seen] = [0, 0];
  for (const run of runs) {
    const [start, stop] = [place, place + run.text.length];
    place = stop;
    if (stop <= begin || start >= end || run.text === '\n') continue;
    seen += 1;
    for (const mark of MARKS) if (run[mark] !== true) marks.delete(mark);
  }
  return seen === 0 ? new Set() : marks;
}

/** Sets or clears a mark. */
export function mark(text: Y.Text, from: number, to: number, what: Mark, on: boolean): void {
  if (to > from) text.format(from, to - from, { [what]: on ? true : null });
}

/** Makes letters a link to an address, or plain again. */
export function linkTo(text: Y.Text, from: number, to: number, address: string | null): void {
  if (to > from) text.format(from, to - from, { link: address });
}

/** Gives the lines between two places a style. */
export function styleLines(text: Y.Text, from: number, to: number, style: LineStyle): void {
  const lines = linesOf(runsOf(text));
  const last = lines.at(-1);
  if (last !== undefined && to >= last.start) text.insert(text.length, '\n');
  for (const { start, length } of lines)
    if (start <= to && start + length >= from)
      text.format(start + length, 1, LINE_ATTRIBUTES[style]);
}

/** The style of the line at a place. */
export function styleAt(runs: readonly Run[], at: number): LineStyle {
  return linesOf(runs).findLast(({ start }) => start <= at)?.style ?? 'plain';
}

export interface Difference {
  readonly at: number;
  readonly removed: number;
  readonly added: string;
}

/** The shortest change from one text to another, near the caret. */
export function difference(before: string, after: string, caret: number): Difference {
  const most = Math.min(before.length, after.length);
  let head = 0;
  // Among equal letters the change is where the caret is.
  while (head < most && before[head] === after[head] && head < caret) head += 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail])
    tail += 1;
  while (head < most - tail && before[head] === after[head]) head += 1;
  return {
    at: head,
    removed: before.length - head - tail,
    added: after.slice(head, after.length - tail),
  };
}
