/** The sides of a conflict in a file: what git's markers separate. Pure.
 *
 * In a rebase git's `ours` is the branch that the work is put onto, and `theirs` the work.
 */

import type { Schemas } from '../../../api/types';
import { t } from '../../../language/t';
import type { Line } from './rows';

/** The part of a conflict that a line belongs to; null outside of one. */
export type Part = 'ours' | 'base' | 'theirs' | null;

/** A line of a conflict: one that git wrote to mark a side, or one of a side. */
export interface Marked {
  readonly part: Part;
  /** What git wrote behind a marker, such as a branch; null for a line of the file. */
  readonly marker: string | null;
}

const PLAIN: Marked = { part: null, marker: null };
const MARKER = /^(<{7}|\|{7}|={7}|>{7})(?: (.*))?$/;
const PARTS: Readonly<Record<string, Part>> = {
  '<': 'ours',
  '|': 'base',
  '=': 'theirs',
  '>': null,
};

/** Each line with its side. Lines that were removed are of none; a marker where none may stand is a
 *  line of the file. */
export function sidesIn(lines: readonly Line[]): readonly Marked[] {
  let part: Part = null;
  return lines.map((line): Marked => {
    if (line.new === null) return PLAIN;
    const found = MARKER.exec(line.text);
    if (found === null || !follows(part, line.text.charAt(0))) return { part, marker: null };
    part = PARTS[line.text.charAt(0)] ?? null;
    return { part, marker: found[2] ?? '' };
  });
}

/** Whether a marker may stand after a part. */
function follows(part: Part, sign: string): boolean {
  switch (sign) {
    case '<':
      return part === null;
    case '|':
      return part === 'ours';
    case '=':
      return part === 'ours' || part === 'base';
    default:
      return part === 'theirs';
  }
}

/** A conflict as far as a hunk has it: its sides, and what was there before both. */
export interface Sides {
  /** Lines that are not in the file any more. */
  readonly removed: readonly Line[];
  readonly base: readonly Line[];
  readonly ours: readonly Line[];
  readonly theirs: readonly Line[];
  /** What git wrote at the marker of a side, such as a branch; empty where it is in another hunk. */
  readonly names: Readonly<Record<'ours' | 'base' | 'theirs', string>>;
}

/** The lines of a hunk, each conflict in it as one. */
export function gatherSides(
  lines: readonly Line[],
  marks: readonly Marked[],
): readonly (Line | Sides)[] {
  const found: (Line | Sides)[] = [];
  for (let at = 0; at < lines.length;) {
    const to = endOf(lines, marks, at);
    const line = lines[at];
    if (to > at) found.push(sidesOf(lines.slice(at, to), marks.slice(at, to)));
    else if (line !== undefined) found.push(line);
    at = Math.max(to, at + 1);
  }
  return found;
}

/** Where the conflict that begins at a line ends; the same place where none begins. */
function endOf(lines: readonly Line[], marks: readonly Marked[], from: number): number {
  const first = marks[from];
  if (first === undefined || (first.part === null && first.marker === null)) return from;
  let to = from;
  while (to < lines.length && (marks[to]?.part !== null || lines[to]?.new === null)) to += 1;
  return (marks[to]?.marker ?? null) === null ? to : to + 1;
}

function sidesOf(lines: readonly Line[], marks: readonly Marked[]): Sides {
  const of = (part: Part): readonly Line[] =>
    lines.filter((line, i) => {
      const mark = marks[i];
      return mark?.part === part && mark.marker === null && (part !== null || line.new === null);
    });
  const named = (part: Part): string =>
    marks.find((one) => one.part === part && one.marker)?.marker ?? '';
  return {
    ...{ removed: of(null), base: of('base'), ours: of('ours'), theirs: of('theirs') },
    // The second side's name stands behind it, at the end of the conflict.
    names: { ours: named('ours'), base: named('base'), theirs: named(null) },
  };
}

/** What the sides are called: the branch, and the work in the sandbox. */
export type SideWords = Readonly<Record<'ours' | 'base' | 'theirs', string>>;

/** The names of the sides. A rebase puts the work onto the branch; anything else brings what it is
 *  called with into the work. */
export function sideWords({
  kind,
  onto,
}: Pick<Schemas['ConflictView'], 'kind' | 'onto'>): SideWords {
  const other = onto === '' ? t`the other side` : onto;
  const [ours, theirs] = kind === 'rebase' ? [other, t`this work`] : [t`this work`, other];
  return { ours, theirs, base: t`before both` };
}
