/** Syntax colours of one line of code: comments, strings, numbers and the usual keywords.
 *
 * A small scanner for the families of languages, which reads each line for itself. It colours
 * text and never changes it.
 */

export type Colour = 'comment' | 'string' | 'number' | 'keyword' | null;
export type Piece = readonly [Colour, string];

const HASH = /^#.*/;
const SLASHES = /^(?:\/\/.*|\/\*.*?(?:\*\/|$)|\*\/|\*(?=\s).*)/;
const DASHES = /^--.*/;
const MARKUP = /^<!--.*?(?:-->|$)/;
const STRING = /^(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?)/;
const NUMBER = /^(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)/;
const WORD = /^[\p{L}_$][\p{L}\p{N}_$]*/u;

const KEYWORDS = new Set(
  (
    'abstract and as assert async await break case catch class const continue def default defer del ' +
    'do elif else enum except export extends false False final finally fn for from func function go ' +
    'if impl implements import in interface is lambda let loop match mod mut new nil None nonlocal ' +
    'not null or package pass private protected pub public raise readonly return self static struct ' +
    'super switch then this throw trait true True try type typeof undefined union unless until use ' +
    'var void where while with yield'
  ).split(' '),
);

const COMMENTS: readonly (readonly [RegExp, RegExp])[] = [
  [/\.(?:py|pyi|sh|bash|zsh|rb|pl|ya?ml|toml|cfg|ini|conf|mk|r|ex|exs|tf|nix|dockerfile)$/i, HASH],
  [/(?:^|\/)(?:Dockerfile|Makefile|\.[a-z]*ignore|\.env.*)$/, HASH],
  [/\.(?:sql|lua|hs|elm|adb|ads)$/i, DASHES],
  [/\.(?:html?|xml|svg|md|vue)$/i, MARKUP],
  [
    /\.(?:[cm]?[jt]sx?|c|h|cc|cpp|hpp|cs|java|kt|kts|go|rs|swift|scala|php|css|scss|less|proto|dart|zig|jsonc?)$/i,
    SLASHES,
  ],
];

/** The comments of a file's language, or null for text without colours. */
export function commentOf(path: string): RegExp | null {
  return COMMENTS.find(([name]) => name.test(path))?.[1] ?? null;
}

/** A line in pieces, each with its colour; joined they are the line. */
export function coloured(text: string, comment: RegExp): readonly Piece[] {
  const pieces: Piece[] = [];
  let rest = text;
  while (rest !== '') {
    const [colour, piece] = next(rest, comment);
    const before = pieces.at(-1);
    if (before?.[0] === colour) pieces[pieces.length - 1] = [colour, before[1] + piece];
    else pieces.push([colour, piece]);
    rest = rest.slice(piece.length);
  }
  return pieces;
}

function next(rest: string, comment: RegExp): Piece {
  const found = comment.exec(rest);
  if (found !== null) return ['comment', found[0]];
  const string = comment === MARKUP ? null : STRING.exec(rest);
  if (string !== null) return ['string', string[0]];
  const word = WORD.exec(rest);
  if (word !== null) {
    return [comment !== MARKUP && KEYWORDS.has(word[0]) ? 'keyword' : null, word[0]];
  }
  const number = NUMBER.exec(rest);
  if (number !== null) return ['number', number[0]];
  return [null, rest.slice(0, rest.codePointAt(0) === rest.charCodeAt(0) ? 1 : 2)];
}
