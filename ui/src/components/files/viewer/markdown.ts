/** Markdown as a tree of plain values, for elements that React makes. Pure.
 *
 * The usual part of CommonMark and of GitHub's tables. There is no HTML: what looks like it is
 * text. Every pattern is linear, and nesting is bounded.
 */

export type Inline =
  | { readonly is: 'text' | 'code'; readonly text: string }
  | { readonly is: 'strong' | 'em' | 'gone'; readonly parts: readonly Inline[] }
  | { readonly is: 'link'; readonly to: string; readonly parts: readonly Inline[] }
  | { readonly is: 'image'; readonly to: string; readonly text: string };

export type Block =
  | { readonly is: 'heading'; readonly level: number; readonly parts: readonly Inline[] }
  | { readonly is: 'paragraph'; readonly parts: readonly Inline[] }
  | { readonly is: 'code'; readonly language: string; readonly text: string }
  | { readonly is: 'quote'; readonly blocks: readonly Block[] }
  | { readonly is: 'list'; readonly ordered: boolean; readonly items: readonly Item[] }
  | { readonly is: 'table'; readonly rows: readonly (readonly (readonly Inline[])[])[] }
  | { readonly is: 'rule' };

export interface Item {
  /** Of a list of things to do; null where it is none. */
  readonly done: boolean | null;
  readonly blocks: readonly Block[];
}

const DEPTH_MAX = 8;
/** Longer texts are read as they are. */
export const TEXT_MAX = 400_000;
const BLOCKS_MAX = 5000;
/** A paragraph that is longer has no markup: none that a person wrote is. */
const INLINE_MAX = 10_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})(?:\s+(\S.*)?)?$/;
const RULE = /^ {0,3}(?:-(?:\s*-){2,}|\*(?:\s*\*){2,}|_(?:\s*_){2,})\s*$/;
const QUOTE = /^ {0,3}>\s?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const DASHES = /^:?-+:?$/;

export function blocksOf(text: string): readonly Block[] {
  return read(text.replaceAll('\r\n', '\n').split('\n'), 0);
}

function read(lines: readonly string[], depth: number): readonly Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length && blocks.length < BLOCKS_MAX) {
    if ((lines[at] ?? '').trim() === '') {
      at += 1;
      continue;
    }
    const [block, end] = blockAt(lines, at, depth);
    blocks.push(block);
    at = end;
  }
  return blocks;
}

/** The second line of a table. */
function isDivider(line: string): boolean {
  const cells = bare(line).split('|');
  return line.includes('-') && cells.every((cell) => DASHES.test(cell.trim()));
}

/** A line of a table without the lines at its ends. */
function bare(line: string): string {
  return line.trim().replace(/^\|/, '').replace(/\|$/, '');
}

type Read = readonly [Block, number];

function blockAt(lines: readonly string[], at: number, depth: number): Read {
  const line = lines[at] ?? '';
  const leaf = leafAt(lines, at, line);
  if (leaf !== null) return leaf;
  if (depth < DEPTH_MAX && QUOTE.test(line)) return quoteAt(lines, at, depth);
  if (depth < DEPTH_MAX && ITEM.test(line)) return listAt(lines, at, depth);
  return paragraphAt(lines, at, depth);
}

/** A block that holds no others; null where none begins. */
function leafAt(lines: readonly string[], at: number, line: string): Read | null {
  const fence = FENCE.exec(line);
  if (fence !== null) return codeAt(lines, at, fence[1] ?? '', fence[2] ?? '');
  const heading = HEADING.exec(line);
  if (heading !== null) return [headingOf(heading[1] ?? '', heading[2] ?? ''), at + 1];
  if (RULE.test(line)) return [{ is: 'rule' }, at + 1];
  return line.includes('|') && isDivider(lines[at + 1] ?? '') ? tableAt(lines, at) : null;
}

function headingOf(marks: string, words: string): Block {
  const plain = words
    .trimEnd()
    .replace(/(?:^|\s)#{1,50}$/, '')
    .trimEnd();
  return { is: 'heading', level: marks.length, parts: inlineOf(plain) };
}

function codeAt(lines: readonly string[], at: number, mark: string, language: string): Read {
  let end = at + 1;
  while (end < lines.length && !(lines[end] ?? '').trimStart().startsWith(mark)) end += 1;
  return [{ is: 'code', language, text: lines.slice(at + 1, end).join('\n') }, end + 1];
}

function quoteAt(lines: readonly string[], at: number, depth: number): Read {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end] ?? '')) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ''));
  return [{ is: 'quote', blocks: read(inner, depth + 1) }, end];
}

function listAt(lines: readonly string[], at: number, depth: number): Read {
  const ordered = isOrdered(lines[at]) === true;
  const items: Item[] = [];
  let next = at;
  while (isOrdered(lines[next]) === ordered) {
    const [item, end] = itemAt(lines, next, depth);
    items.push(item);
    next = end;
    while (next < lines.length && (lines[next] ?? '').trim() === '') next += 1;
  }
  return [{ is: 'list', ordered, items }, next];
}

function itemAt(lines: readonly string[], at: number, depth: number): readonly [Item, number] {
  const line = lines[at] ?? '';
  const mark = ITEM.exec(line)?.[0] ?? '';
  // A mark that many spaces follow is of an item that begins with code.
  const indent = Math.min(mark.length, mark.trimEnd().length + 4);
  let end = at + 1;
  while (end < lines.length && belongs(lines, end, indent)) end += 1;
  const rest = lines.slice(at + 1, end).map((one) => outdented(one, indent));
  return [itemOf([line.slice(mark.length), ...rest], depth), end];
}

/** Whether the item that a line begins has a number; null where it begins none. */
function isOrdered(line = ''): boolean | null {
  const found = ITEM.exec(line);
  return found === null ? null : /\d/.test(found[2] ?? '');
}

/** Whether a line goes on with an item: it is indented as it, or blank before one that is. */
function belongs(lines: readonly string[], at: number, indent: number): boolean {
  const line = lines[at] ?? '';
  if (line.trim() !== '') {
    const begins = line.length - line.trimStart().length;
    if (begins >= Math.min(indent, 2)) return true;
    return (lines[at - 1] ?? '').trim() !== '' && !begun(line);
  }
  const following = lines[at + 1] ?? '';
  return /^ {2,}\S/.test(following) && !ITEM.test(following.slice(0, 1));
}

function outdented(line: string, indent: number): string {
  const begins = line.length - line.trimStart().length;
  return line.slice(Math.min(indent, begins));
}

function itemOf([first = '', ...rest]: readonly string[], depth: number): Item {
  const task = /^\[([ xX])\]\s+/.exec(first);
  const line = task === null ? first : first.slice(task[0].length);
  const done = task === null ? null : task[1] !== ' ';
  return { done, blocks: read([line, ...rest], depth + 1) };
}

function tableAt(lines: readonly string[], at: number): Read {
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? '').includes('|')) end += 1;
  const rows = [lines[at] ?? '', ...lines.slice(at + 2, end)].map(cellsOf);
  return [{ is: 'table', rows }, end];
}

function cellsOf(line: string): readonly (readonly Inline[])[] {
  return bare(line)
    .split(/(?<!\\)\|/)
    .map((cell) => inlineOf(cell.trim().replaceAll('\\|', '|')));
}

function paragraphAt(lines: readonly string[], at: number, depth: number): Read {
  let end = at + 1;
  while (end < lines.length && (lines[end] ?? '').trim() !== '') {
    const under = /^ {0,3}(=+|-+)\s*$/.exec(lines[end] ?? '');
    if (under !== null) {
      const parts = inlineOf(lines.slice(at, end).join('\n').trim());
      return [{ is: 'heading', level: under[1]?.startsWith('=') ? 1 : 2, parts }, end + 1];
    }
    if (depth < DEPTH_MAX && begun(lines[end] ?? '')) break;
    end += 1;
  }
  return [{ is: 'paragraph', parts: inlineOf(lines.slice(at, end).join('\n').trim()) }, end];
}

/** Whether a line begins a block that ends a paragraph. */
function begun(line: string): boolean {
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((pattern) => pattern.test(line));
}

const TOKENS = new RegExp(
  [
    /(?<code>(`{1,3})(?!`).{1,300}?(?<!`)\2(?!`))/s,
    /(?<escaped>\\[\\`*_{}[\]()#+\-.!|~<>])/,
    /(?<image>!\[[^\]]{0,500}\]\([^()\s]{1,2000}(?:\s+"[^"]{0,500}")?\))/,
    /(?<link>\[[^[\]]{1,1000}\]\([^()\s]{1,2000}(?:\s+"[^"]{0,500}")?\))/,
    /(?<bare><?https?:\/\/[^\s<>()"'`]{1,2000}>?)/,
    /(?<strong>(?:\*\*|__)(?=\S).{1,300}?(?<=\S)(?:\*\*|__))/s,
    /(?<gone>~~(?=\S).{1,300}?(?<=\S)~~)/s,
    /(?<em>\*(?=[^\s*])[^*]{1,300}?(?<=[^\s*])\*|(?<!\w)_(?=[^\s_])[^_]{1,300}?(?<=[^\s_])_(?!\w))/,
  ]
    .map(({ source }) => source)
    .join('|'),
  's',
);

/** A line's parts; markup in markup, to a bound. */
export function inlineOf(text: string, depth = 0): readonly Inline[] {
  if (depth > DEPTH_MAX || text.length > INLINE_MAX) return [{ is: 'text', text }];
  const parts: Inline[] = [];
  let rest = text;
  for (;;) {
    const found = TOKENS.exec(rest);
    if (found === null) break;
    if (found.index > 0) parts.push({ is: 'text', text: rest.slice(0, found.index) });
    parts.push(partOf(found, depth));
    rest = rest.slice(found.index + found[0].length);
  }
  if (rest !== '') parts.push({ is: 'text', text: rest });
  return parts;
}

function partOf({ 0: whole, groups = {} }: RegExpExecArray, depth: number): Inline {
  const inner = (by: number): readonly Inline[] => inlineOf(whole.slice(by, -by), depth + 1);
  if (groups['code'] !== undefined) {
    return { is: 'code', text: whole.replace(/^`+|`+$/g, '').replace(/^ (.*) $/s, '$1') };
  }
  if (groups['escaped'] !== undefined) return { is: 'text', text: whole.slice(1) };
  if (groups['strong'] !== undefined) return { is: 'strong', parts: inner(2) };
  if (groups['gone'] !== undefined) return { is: 'gone', parts: inner(2) };
  if (groups['em'] !== undefined) return { is: 'em', parts: inner(1) };
  if (groups['bare'] !== undefined) {
    const to = whole.replace(/^<|>$/g, '').replace(/[.,;:!?]+$/, '');
    return { is: 'link', to, parts: [{ is: 'text', text: whole.replace(/^<|>$/g, '') }] };
  }
  const image = groups['image'] !== undefined;
  const middle = whole.lastIndexOf('](');
  const to = /^[^\s"]+/.exec(whole.slice(middle + 2, -1))?.[0] ?? '';
  const words = whole.slice(image ? 2 : 1, middle);
  return image
    ? { is: 'image', to, text: words }
    : { is: 'link', to, parts: inlineOf(words, depth + 1) };
}
