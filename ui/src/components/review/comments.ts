/** Comments on lines, collected per sandbox until they are sent to an agent as one prompt.
 *
 * The browser keeps them, so that they outlast a reload and a restart of the server.
 */

import { plural, t } from '../../language/t';
import { Store } from '../../state/store';
import { printable } from '../../unseen';
import type { Place, Side } from './look';

export interface Comment {
  readonly id: number;
  readonly path: string;
  readonly side: Side;
  readonly line: number;
  /** The line itself, as it was when the comment was written. */
  readonly text: string;
  readonly words: string;
}

/** The comments of a sandbox, and the agent that gets them when its turn ends. */
export interface Collected {
  readonly list: readonly Comment[];
  readonly queuedFor: string | null;
}

type All = Readonly<Record<string, Collected>>;

const PREFIX = 'atoll.comments.';
const MAX_QUOTED = 200;
const MAX_COMMENTS = 200;
const NONE: Collected = { list: [], queuedFor: null };

/** Comments by sandbox. */
export const comments = new Store<All>({});

export const collectedOf = (all: All, sandbox: string): Collected => all[sandbox] ?? NONE;

/** Reads what the browser kept; another tab may have changed it. */
export function restoreComments(): void {
  const found: Record<string, Collected> = {};
  try {
    for (let i = 0; i < localStorage.length; i += 1) {
      const key = localStorage.key(i) ?? '';
      const kept = key.startsWith(PREFIX) ? read(localStorage.getItem(key)) : null;
      if (kept !== null) found[key.slice(PREFIX.length)] = kept;
    }
  } catch {
    return;
  }
  comments.set(found);
}

/** Whether a key of the browser's storage is about comments; null stands for all keys. */
export const isCommentKey = (key: string | null): boolean => key === null || key.startsWith(PREFIX);

function read(text: string | null): Collected | null {
  try {
    const value = JSON.parse(text ?? '') as Partial<Collected>;
    const list = Array.isArray(value.list) ? value.list.filter(isComment) : [];
    const queuedFor = typeof value.queuedFor === 'string' ? value.queuedFor : null;
    return { list, queuedFor };
  } catch {
    return null;
  }
}

function isComment(value: unknown): value is Comment {
  const { id, line, ...texts } = value as Comment;
  return (
    typeof id === 'number' &&
    typeof line === 'number' &&
    [texts.path, texts.text, texts.words].every((one) => typeof one === 'string')
  );
}

function change(sandbox: string, by: (now: Collected) => Collected): void {
  const next = by(collectedOf(comments.get(), sandbox));
  try {
    if (next.list.length === 0) localStorage.removeItem(PREFIX + sandbox);
    else localStorage.setItem(PREFIX + sandbox, JSON.stringify(next));
  } catch {
    // Without storage they last as long as the page.
  }
  comments.set((now) => ({ ...now, [sandbox]: next }));
}

export function addComment(
  sandbox: string,
  place: Place & { readonly path: string; readonly text: string },
  words: string,
): void {
  const { path, side, line, text } = place;
  change(sandbox, ({ list, queuedFor }) => {
    const id = Math.max(0, ...list.map((one) => one.id)) + 1;
    const added: Comment = { id, path, side, line, text, words: words.trim() };
    return { list: [...list, added].slice(-MAX_COMMENTS), queuedFor };
  });
}

export function rewordComment(sandbox: string, id: number, words: string): void {
  change(sandbox, ({ list, queuedFor }) => ({
    list: list.map((one) => (one.id === id ? { ...one, words: words.trim() } : one)),
    queuedFor,
  }));
}

/** Removes these comments, as they were; one that was reworded meanwhile stays. */
export function removeComments(sandbox: string, gone: readonly Comment[]): void {
  change(sandbox, ({ list, queuedFor }) => {
    const rest = list.filter(
      ({ id, words }) => !gone.some((one) => one.id === id && one.words === words),
    );
    return { list: rest, queuedFor: rest.length === 0 ? null : queuedFor };
  });
}

/** Keeps the comments for the end of an agent's turn; null takes that back. */
export function queueComments(sandbox: string, agent: string | null): void {
  change(sandbox, ({ list }) => ({ list, queuedFor: agent }));
}

/** Drops the comments of sandboxes that are gone. */
export function forgetComments(known: ReadonlySet<string>): void {
  for (const [sandbox, { list }] of Object.entries(comments.get())) {
    if (!known.has(sandbox) && list.length > 0) removeComments(sandbox, list);
  }
}

/** All comments as one prompt, by file and line. Only printable text goes to a terminal. */
export function promptOf(list: readonly Comment[]): string {
  const sorted = [...list].sort((a, b) => compare(a.path, b.path) || a.line - b.line);
  const parts = sorted.map(({ path, side, line, text, words }) => {
    const where = `${printable(placeOf({ path, line }))}${side === 'old' ? ` ${t`(a line that was removed)`}` : ''}`;
    const quoted = text === '' ? '' : `> ${printable(text).trim().slice(0, MAX_QUOTED)}\n`;
    return `${where}\n${quoted}${words.split('\n').map(printable).join('\n')}`;
  });
  const many = plural(list.length, {
    one: 'this review comment',
    other: 'these # review comments',
  });
  return [t`Please address ${many} on your changes.`, ...parts].join('\n\n');
}

/** `path:line`; what has no line is about a whole file, what has no path about all of it. */
export function placeOf({ path, line }: Pick<Comment, 'path' | 'line'>): string {
  if (path === '') return t`The whole`;
  return line === 0 ? path : `${path}:${line}`;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
