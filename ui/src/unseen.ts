/** Characters that show nothing of themselves, and how a text of strangers is shown with them. Pure. */

/** Letters and marks that count as printable and show nothing, for a class of a regular expression. */
export const BLANK = '\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u2800\\u3164\\uffa0';

// eslint-disable-next-line no-misleading-character-class -- they are meant one by one
const UNSEEN = new RegExp(`[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}${BLANK}]`, 'gu');

/** Text with every character that shows nothing of itself spelled out; tabs stay. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (char) =>
    char === '\t' ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Text with a space for every character that controls something; only that goes to a terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}

/** A text of strangers for a prompt: a quoted line for each that says anything. */
export function quoted(text: string): string {
  return text
    .split('\n')
    .map((line) => printable(line).trimEnd())
    .filter((line) => line.trim() !== '')
    .map((line) => `> ${line}`)
    .join('\n');
}

/** The same as `visible` for a text of several lines, which stay lines. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}
