/** A text as lines, so that only those on the screen are made into elements. Pure. */

export interface Lines {
  readonly text: string;
  /** Where each line begins. */
  readonly starts: Uint32Array;
}

/** Characters shown of one line. */
export const LINE_MAX = 4000;
/** Lines of one part: browsers lay out no more than about 16 million pixels. */
export const LINES_MAX = 500_000;
/** Bytes of one part. */
export const PART_BYTES = 8 * 1024 * 1024;

/** The lines of a text; its last newline begins no line. */
export function linesOf(text: string): Lines {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  const starts = new Uint32Array(count);
  let line = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    line += 1;
    starts[line] = at + 1;
  }
  const last = text.endsWith('\n') && count > 1 ? count - 1 : count;
  return { text, starts: starts.subarray(0, last) };
}

/** A line without its end. */
export function lineAt({ text, starts }: Lines, at: number): string {
  const from = starts[at] ?? text.length;
  const end = text.indexOf('\n', from);
  const line = text.slice(from, end < 0 ? text.length : end);
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

/** How many of these bytes are one part: whole lines, where it has an end of line at all, and no
 *  piece of a character. */
export function partOf(bytes: Uint8Array, isLast: boolean): number {
  let lines = 0;
  let at = bytes.indexOf(0x0a);
  let end = -1;
  while (at >= 0) {
    end = at + 1;
    lines += 1;
    if (lines === LINES_MAX) return end;
    at = bytes.indexOf(0x0a, end);
  }
  if (isLast) return bytes.length;
  if (end > 0) return end;
  return bytes.length - begunIn(bytes);
}

/** The bytes at the end that begin a character of UTF-8 and do not end it. */
function begunIn(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

/** The lines of the text in which a text stands, ASCII letters in either case; at most `most`. */
export function found({ text, starts }: Lines, wanted: string, most: number): readonly number[] {
  const lines: number[] = [];
  if (wanted === '') return lines;
  const folded = text.toLowerCase();
  // Letters whose small form is longer would shift every place.
  const where = folded.length === text.length ? folded : text;
  const sought = where === folded ? wanted.toLowerCase() : wanted;
  let at = where.indexOf(sought);
  while (at >= 0 && lines.length < most) {
    const line = lineOf(starts, at);
    lines.push(line);
    const next = starts[line + 1];
    if (next === undefined) break;
    at = where.indexOf(sought, next);
  }
  return lines;
}

/** The line that holds a place. */
function lineOf(starts: Uint32Array, place: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
