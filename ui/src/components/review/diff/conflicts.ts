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
