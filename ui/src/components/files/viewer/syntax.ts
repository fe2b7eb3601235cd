/** Syntax colours of a whole file, line by line. Pure.
 *
 * `review/colours` reads each line for itself; here, comments and strings that go over several
 * lines are carried from one line to the next. How a line begins depends on all lines before it,
 * so that is worked out in pieces, from the top on.
 */

import { coloured, commentOf, type Piece } from '../../review/diff/colours';
import { lineAt, type Lines } from './lines';

/** What is open where a line begins, by its end; '' for nothing. */
type Open = '' | '*/' | '-->' | '"""' | "'''" | '`';

const OPENS: readonly Open[] = ['', '*/', '-->', '"""', "'''", '`'];
/** Characters of a line that are coloured: longer ones are data. */
const COLOURED_MAX = 2000;

export class Syntax {
  readonly #lines: Lines;
  readonly #comment: RegExp | null;
  readonly #triples: boolean;
  /** What is open where each line begins, as far as that is known. */
  readonly #opens: Uint8Array;
  #known = 0;

  constructor(path: string, lines: Lines) {
    this.#lines = lines;
    this.#comment = commentOf(path);
    this.#triples = /\.pyi?$/i.test(path);
    this.#opens = new Uint8Array(lines.starts.length + 1);
  }

  /** Whether everything is known that has to do with this line. */
  knows(line: number): boolean {
    return this.#comment === null || line <= this.#known;
  }

  /** Works out how the next lines begin; returns whether any are left. */
  advance(lines: number): boolean {
    const end = Math.min(this.#known + lines, this.#lines.starts.length);
    while (this.#known < end) {
      const text = lineAt(this.#lines, this.#known).slice(0, COLOURED_MAX);
      const { after } = this.#read(text, OPENS[this.#opens[this.#known] ?? 0] ?? '');
      this.#known += 1;
      this.#opens[this.#known] = OPENS.indexOf(after);
    }
    return this.#comment !== null && this.#known < this.#lines.starts.length;
  }

  /** A line in pieces; joined they are the line. */
  pieces(line: number, text: string): readonly Piece[] {
    if (this.#comment === null || text.length > COLOURED_MAX) return [[null, text]];
    const open = this.knows(line) ? (OPENS[this.#opens[line] ?? 0] ?? '') : '';
    return this.#read(text, open).pieces;
  }

  #read(text: string, open: Open): { pieces: readonly Piece[]; after: Open } {
    const comment = this.#comment;
    if (comment === null) return { pieces: [[null, text]], after: '' };
    if (open === '') {
      const pieces = coloured(text, comment);
      return { pieces, after: this.#openIn(pieces) };
    }
    const colour = open === '*/' || open === '-->' ? 'comment' : 'string';
    const end = endOf(text, open);
    if (end < 0) return { pieces: [[colour, text]], after: open };
    const rest = this.#read(text.slice(end), '');
    return { pieces: [[colour, text.slice(0, end)], ...rest.pieces], after: rest.after };
  }

  /** What the pieces of a line leave open. */
  #openIn(pieces: readonly Piece[]): Open {
    if (this.#triples) {
      for (const [colour, piece] of pieces) {
        const found = colour === 'string' ? tripleIn(piece) : '';
        if (found !== '') return found;
      }
    }
    const [colour, piece] = pieces.at(-1) ?? [null, ''];
    if (colour === 'comment') return commentIn(piece);
    return colour === 'string' && isOpenTemplate(piece) ? '`' : '';
  }
}

/** The three quotes that a string leaves open. */
function tripleIn(piece: string): Open {
  const found = /"""|'''/.exec(piece)?.[0];
  return found !== undefined && piece.split(found).length % 2 === 0 ? (found as Open) : '';
}

/** The end that a comment still lacks. */
function commentIn(piece: string): Open {
  const begun = Math.max(piece.lastIndexOf('/*'), piece.lastIndexOf('<!--'));
  if (begun < 0) return '';
  const end = piece.startsWith('/*', begun) ? '*/' : '-->';
  return piece.includes(end, begun + 2) ? '' : end;
}

function isOpenTemplate(piece: string): boolean {
  return piece.startsWith('`') && piece.replace(/\\./g, '').split('`').length % 2 === 0;
}

/** Where the text behind an end begins; -1 where it is not in the line. */
function endOf(text: string, open: Open): number {
  if (open === '`') {
    const found = /^(?:[^`\\]|\\.)*`/.exec(text);
    return found === null ? -1 : found[0].length;
  }
  const at = text.indexOf(open);
  return at < 0 ? -1 : at + open.length;
}
