/**
 * What programs ask to put into the clipboard (OSC 52), made fit to be shown to a person.
 *
 * Reading the clipboard is never answered. The text is a stranger's: it may hold line breaks that
 * run a command where it is pasted, and characters that are not seen.
 */

import { plural, t } from '../../language/t';
import { BLANK } from '../../unseen';

/** Longer texts are refused. */
export const COPY_MAX_CHARACTERS = 64 * 1024;
/** A flood of requests is one request at a time. */
const CALM_MS = 250;
const PREVIEW_CHARACTERS = 160;
const UNSEEN = new RegExp(`[${BLANK}]`, 'gu');

/** A request of a program: the text, or null for one that is too long. */
export interface CopyWish {
  readonly text: string | null;
}

/** Reads the body of an OSC 52. Null: it is malformed, empty, or asks to read. */
export function readCopy(body: string): CopyWish | null {
  const at = body.indexOf(';');
  if (at < 0 || at > 16 || !/^[cpqs0-7]*$/.test(body.slice(0, at))) return null;
  const packed = body.slice(at + 1);
  // Base64 of the longest text, each character of at most four bytes.
  if (packed.length > (COPY_MAX_CHARACTERS * 16) / 3) return { text: null };
  const text = cleanCopy(decoded(packed));
  if (text === '') return null;
  return { text: text.length > COPY_MAX_CHARACTERS ? null : text };
}

function decoded(packed: string): string {
  try {
    const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return '';
  }
}

/** Removes control characters but tab and line break; a carriage return is a line break. */
function cleanCopy(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are the subject
  return text.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}

/** The size of a text in words: `34 characters`, with its lines where there are more. */
export function copyWords(text: string): string {
  const count = Array.from(text).length;
  const characters = plural(count, { one: 'one character', other: '# characters' });
  const lines = text.split('\n').length;
  return lines === 1 ? characters : t`${characters} in ${lines} lines`;
}

/** The beginning of a text with all it holds made visible. */
export function preview(text: string): string {
  const characters = Array.from(text);
  const begins = characters.slice(0, PREVIEW_CHARACTERS).join('');
  const seen = begins
    .replace(/\n/g, '⏎')
    .replace(/\t/g, '⇥')
    .replace(/[\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, spelled)
    .replace(UNSEEN, spelled);
  return characters.length > PREVIEW_CHARACTERS ? `${seen}…` : seen;
}

function spelled(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`;
}

/** Lets requests through one at a time, the newest of a flood. */
export class CopyWishes {
  readonly #onWish: (wish: CopyWish) => void;
  #waiting: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onWish: (wish: CopyWish) => void) {
    this.#onWish = onWish;
  }

  /** Receives the body of an OSC 52. */
  take(body: string): void {
    this.#waiting = body;
    if (this.#timer === undefined) this.#pass();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#waiting = null;
  }

  #pass(): void {
    this.#timer = undefined;
    const body = this.#waiting;
    if (body === null) return;
    this.#waiting = null;
    this.#timer = setTimeout(() => this.#pass(), CALM_MS);
    const wish = readCopy(body);
    if (wish !== null) this.#onWish(wish);
  }
}
