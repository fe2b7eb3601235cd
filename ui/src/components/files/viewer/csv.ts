/** Tables in text (RFC 4180): fields that commas, semicolons or tabs part, and quotes. Pure. */

export interface Table {
  readonly rows: readonly (readonly string[])[];
  /** The columns of the widest row that is shown. */
  readonly columns: number;
  /** Whether rows or columns are missing. */
  readonly cut: boolean;
}

export const ROWS_MAX = 100_000;
export const COLUMNS_MAX = 200;
const SEPARATORS = [',', ';', '\t'] as const;

/** The character that parts the fields of the first line; a comma where none does. */
export function separatorOf(text: string): string {
  const end = text.indexOf('\n');
  const first = (end < 0 ? text : text.slice(0, end)).slice(0, 10_000).replace(/"[^"]*"/g, '');
  const count = (one: string): number => first.split(one).length;
  return SEPARATORS.reduce((best, one) => (count(one) > count(best) ? one : best), SEPARATORS[0]);
}

export function tableOf(text: string): Table {
  const separator = separatorOf(text);
  const rows: (readonly string[])[] = [];
  let columns = 0;
  let cut = false;
  let at = 0;
  while (at < text.length && rows.length < ROWS_MAX) {
    const [row, end] = rowFrom(text, at, separator);
    cut ||= row.length > COLUMNS_MAX;
    rows.push(row.slice(0, COLUMNS_MAX));
    columns = Math.max(columns, Math.min(row.length, COLUMNS_MAX));
    at = end;
  }
  return { rows, columns, cut: cut || at < text.length };
}

/** The fields of the row that begins at a place, and where the next one begins. */
function rowFrom(text: string, begin: number, separator: string): readonly [string[], number] {
  const row: string[] = [];
  let at = begin;
  for (;;) {
    const [field, end] = fieldFrom(text, at, separator);
    row.push(field);
    if (text[end] !== separator) return [row, afterNewline(text, end)];
    at = end + 1;
  }
}

function fieldFrom(text: string, begin: number, separator: string): readonly [string, number] {
  if (text[begin] !== '"') {
    const end = endOf(text, begin, separator);
    return [text.slice(begin, end).replace(/\r$/, ''), end];
  }
  let field = '';
  let at = begin + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    // A quote that nobody closes: the rest of the text is this field.
    if (quote < 0) return [field + text.slice(at), text.length];
    field += text.slice(at, quote);
    if (text[quote + 1] !== '"') {
      const end = endOf(text, quote + 1, separator);
      return [field + text.slice(quote + 1, end).trimEnd(), end];
    }
    field += '"';
    at = quote + 2;
  }
}

function endOf(text: string, from: number, separator: string): number {
  let at = from;
  while (at < text.length && text[at] !== separator && text[at] !== '\n') at += 1;
  return at;
}

const afterNewline = (text: string, at: number): number => Math.min(at + 1, text.length);

/** The widths of the columns in characters, by the first rows. */
export function widthsOf({ rows, columns }: Table, most: number): readonly number[] {
  const widths = Array<number>(columns).fill(3);
  for (const row of rows.slice(0, 200)) {
    row.forEach((field, i) => {
      widths[i] = Math.min(most, Math.max(widths[i] ?? 0, field.length));
    });
  }
  return widths;
}
