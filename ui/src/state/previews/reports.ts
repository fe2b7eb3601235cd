/**
 * What the page in a preview reports of itself: its errors, and an element that was picked. Pure.
 *
 * All of it is text of strangers: that page may say anything, as often and as long as it likes.
 */

import { printable, quoted } from '../../unseen';
import { t } from '../../language/t';
import { isPicture } from './picture';

export interface PageError {
  readonly source: 'console' | 'uncaught' | 'rejection';
  readonly text: string;
  /** How often it came. */
  readonly times: number;
}

/** An element that a person pointed at. */
export interface Picked {
  readonly path: string;
  readonly selector: string;
  readonly text: string;
}

/** The bytes of a picture that can be drawn, that it is still taken, or that there is none. */
export type Picture = ArrayBuffer | 'coming' | 'none';

export interface Reports {
  /** Whether the document reports anything. */
  readonly speaks: boolean;
  readonly errors: readonly PageError[];
  /** Further errors, of which nothing is kept. */
  readonly more: number;
  /** Whether a person is about to point at an element. */
  readonly picking: boolean;
  readonly picked: Picked | null;
  /** That of the element which was picked last. */
  readonly picture: Picture;
}

export const SILENT: Reports = {
  speaks: false,
  errors: [],
  more: 0,
  picking: false,
  picked: null,
  picture: 'none',
};

export type Message =
  | { readonly kind: 'ready' | 'pick-ended' }
  | ({ readonly kind: 'error' } & Pick<PageError, 'source' | 'text'>)
  | ({ readonly kind: 'picked' } & Picked)
  | { readonly kind: 'picture'; readonly png: ArrayBuffer | null };

const MAX_ERRORS = 50;
const MAX_COUNT = 9_999;
/** The reporter sends at most so many characters of a text. */
const MAX_TEXT = 2_000;
const MAX_A_SECOND = 60;
const MAX_PROMPT = 8_000;
const SOURCES: readonly unknown[] = ['console', 'uncaught', 'rejection'];

/** Reads a message of the page; null for what the reporter never sends. */
export function readMessage(data: unknown): Message | null {
  if (typeof data !== 'object' || data === null) return null;
  const found = data as Readonly<Record<string, unknown>>;
  if (found['atoll'] !== 'preview') return null;
  switch (found['kind']) {
    case 'ready':
    case 'pick-ended':
      return { kind: found['kind'] };
    case 'error':
      return readError(found);
    case 'picked':
      return readPicked(found);
    case 'picture':
      return { kind: 'picture', png: isPicture(found['png']) ? found['png'] : null };
    default:
      return null;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function readError({ source, text }: Fields): Message | null {
  if (!isShort(text) || !SOURCES.includes(source)) return null;
  return { kind: 'error', source: source as PageError['source'], text };
}

function readPicked({ path, selector, text }: Fields): Message | null {
  if (!isShort(path) || !isShort(selector) || !isShort(text)) return null;
  return { kind: 'picked', path, selector, text };
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT;
}

/** The reports after a message. Nothing is picked unless its person is about to. */
export function withMessage(now: Reports, message: Message): Reports {
  switch (message.kind) {
    case 'ready':
      return { ...loading(now), speaks: true };
    case 'error':
      return withError(now, message);
    case 'picked': {
      const { path, selector, text } = message;
      if (!now.picking) return now;
      return { ...now, picking: false, picked: { path, selector, text }, picture: 'coming' };
    }
    case 'picture':
      return now.picture === 'coming' ? { ...now, picture: message.png ?? 'none' } : now;
    case 'pick-ended':
      return { ...now, picking: false };
  }
}

function withError(now: Reports, { source, text }: Pick<PageError, 'source' | 'text'>): Reports {
  const same = (one: PageError): boolean => one.source === source && one.text === text;
  if (now.errors.some(same)) {
    const errors = now.errors.map((one) =>
      same(one) ? { ...one, times: Math.min(one.times + 1, MAX_COUNT) } : one,
    );
    return { ...now, errors };
  }
  if (now.errors.length >= MAX_ERRORS) return { ...now, more: Math.min(now.more + 1, MAX_COUNT) };
  return { ...now, errors: [...now.errors, { source, text, times: 1 }] };
}

/** The reports while another document loads. What was picked stays: its person is writing of it. */
export function loading({ picked, picture }: Reports): Reports {
  return { ...SILENT, picked, picture: picture === 'coming' ? 'none' : picture };
}

/** How many errors there were. */
export function countOf({ errors, more }: Reports): number {
  return errors.reduce((sum, { times }) => sum + times, more);
}

/** Reports whether one more message of a page is read, at this time in milliseconds. */
export function limiter(): (now: number) => boolean {
  let second = 0;
  let count = 0;
  return (now) => {
    const current = Math.floor(now / 1_000);
    if (current !== second) [second, count] = [current, 0];
    count += 1;
    return count <= MAX_A_SECOND;
  };
}

/** A prompt that quotes errors. */
export function errorsPrompt(errors: readonly PageError[], port: number): string {
  const asked = t`The page in the preview of port ${port} reports these errors. Please find their cause and correct it.`;
  return [asked, ...errors.map(({ text }) => quoted(text))].join('\n\n').slice(0, MAX_PROMPT);
}

/** The beginning of a prompt that quotes an element; its person says what is to be done. */
export function pickedPrompt({ path, selector, text }: Picked, port: number): string {
  const where = t`This element of ${printable(path)}, in the preview of port ${port}:`;
  const lines = text.trim() === '' ? selector : `${selector}\n${text.trim()}`;
  return `${where}\n\n${quoted(lines)}\n\n`;
}

/** A prompt that names the file of a picture. */
export function withPicture(prompt: string, path: string): string {
  return `${prompt.trimEnd()}\n\n${t`A picture of it: ${path}`}`;
}
