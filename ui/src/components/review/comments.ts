/** Comments on lines, collected per sandbox until they are sent to an agent as one prompt. */

import { Store } from '../../state/store';
import type { Place, Side } from './rows';

export interface Comment {
  readonly id: number;
  readonly path: string;
  readonly side: Side;
  readonly line: number;
  /** The line itself, as it was when the comment was written. */
  readonly text: string;
  readonly words: string;
}

const MAX_QUOTED = 200;
const NONE: readonly Comment[] = [];

/** Comments by sandbox; they live as long as the page. */
export const comments = new Store<Readonly<Record<string, readonly Comment[]>>>({});
let last = 0;

export const commentsOf = (
  all: Readonly<Record<string, readonly Comment[]>>,
  sandbox: string,
): readonly Comment[] => all[sandbox] ?? NONE;

export function addComment(
  sandbox: string,
  place: Place & { readonly path: string; readonly text: string },
  words: string,
): void {
  const { path, side, line, text } = place;
  last += 1;
  const added: Comment = { id: last, path, side, line, text, words: words.trim() };
  comments.set((now) => ({ ...now, [sandbox]: [...commentsOf(now, sandbox), added] }));
}

export function removeComment(sandbox: string, id: number): void {
  comments.set((now) => ({
    ...now,
    [sandbox]: commentsOf(now, sandbox).filter((one) => one.id !== id),
  }));
}

export function clearComments(sandbox: string): void {
  comments.set((now) => ({ ...now, [sandbox]: NONE }));
}

/** All comments as one prompt, by file and line. Only printable text goes to a terminal. */
export function promptOf(list: readonly Comment[]): string {
  const sorted = [...list].sort((a, b) => compare(a.path, b.path) || a.line - b.line);
  const parts = sorted.map(({ path, side, line, text, words }) => {
    const where = `${plain(path)}:${line}${side === 'old' ? ' (a line that was removed)' : ''}`;
    return `${where}\n> ${plain(text).trim().slice(0, MAX_QUOTED)}\n${words.split('\n').map(plain).join('\n')}`;
  });
  const many = list.length === 1 ? 'this review comment' : `these ${list.length} review comments`;
  return [`Please address ${many} on your changes.`, ...parts].join('\n\n');
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}
