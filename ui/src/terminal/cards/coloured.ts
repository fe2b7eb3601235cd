/** Text with SGR sequences (ECMA-48, 8.3.117) as runs of one look each. Pure. */

export interface Look {
  /** 0 to 15: the terminal's own colours; `#rrggbb`: any other. Null: as the text around it. */
  readonly front: number | string | null;
  readonly back: number | string | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly inverse: boolean;
  readonly strike: boolean;
}

export interface Run {
  readonly text: string;
  readonly look: Look;
}

export const PLAIN: Look = {
  front: null,
  back: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
  strike: false,
};

// eslint-disable-next-line no-control-regex -- sequences begin with ESC
const SGR = /\u001b\[([0-9;:]*)m/g;
/** More runs than that are shown without colours: each costs an element. */
const RUNS_MAX = 4_000;

export function runsOf(text: string): readonly Run[] {
  const runs: Run[] = [];
  let look = PLAIN;
  let from = 0;
  for (const match of text.matchAll(SGR)) {
    if (match.index > from) runs.push({ text: text.slice(from, match.index), look });
    if (runs.length > RUNS_MAX) return [{ text: withoutColours(text), look: PLAIN }];
    from = match.index + match[0].length;
    look = changed(look, match[1] ?? '');
  }
  if (from < text.length) runs.push({ text: text.slice(from), look });
  return runs;
}

export function withoutColours(text: string): string {
  return text.replace(SGR, '');
}

const FLAGS: Readonly<Record<number, Partial<Look>>> = {
  0: PLAIN,
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  27: { inverse: false },
  29: { strike: false },
  39: { front: null },
  49: { back: null },
};

/** Read over: an underline has the colour of its text here. */
const UNDERLINE_COLOUR = 58;

function changed(look: Look, parameters: string): Look {
  const codes = plainOf(parameters).split(';').map(Number);
  let next = look;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48 || code === UNDERLINE_COLOUR) {
      const { colour, used } = extended(codes.slice(at + 1));
      at += used;
      if (colour === null || code === UNDERLINE_COLOUR) continue;
      next = { ...next, [code === 38 ? 'front' : 'back']: colour };
    } else {
      next = { ...next, ...(FLAGS[code] ?? basic(code)) };
    }
  }
  return next;
}

/** The same in semicolons: colours may be written with colons, and with a place for their space
 *  (`38:2::r:g:b`); of an underline's kinds (`4:3`) there is one here. */
function plainOf(parameters: string): string {
  const plain = parameters.split(';').map((one) =>
    one
      .replace(/^([345]8):2:\d*:(\d+):(\d+):(\d+)$/, '$1;2;$2;$3;$4')
      .replace(/^4:0$/, '24')
      .replace(/^4:\d+$/, '4')
      .replaceAll(':', ';'),
  );
  return plain.join(';');
}

/** One of the terminal's sixteen colours. */
function basic(code: number): Partial<Look> {
  if (code >= 30 && code <= 37) return { front: code - 30 };
  if (code >= 90 && code <= 97) return { front: code - 82 };
  if (code >= 40 && code <= 47) return { back: code - 40 };
  if (code >= 100 && code <= 107) return { back: code - 92 };
  return {};
}

interface Extended {
  readonly colour: number | string | null;
  readonly used: number;
}

/** A colour of the palette of 256 (`5;n`), or of red, green and blue (`2;r;g;b`). */
function extended([kind, ...numbers]: readonly number[]): Extended {
  if (kind === 5) return { colour: paletted(numbers[0] ?? 0), used: 2 };
  if (kind === 2) return { colour: hex(numbers.slice(0, 3)), used: 4 };
  return { colour: null, used: 1 };
}

const CUBE = [0, 95, 135, 175, 215, 255];

function paletted(n: number): number | string | null {
  if (n < 0 || n > 255) return null;
  if (n < 16) return n;
  if (n >= 232) return hex(Array<number>(3).fill(8 + (n - 232) * 10));
  const at = n - 16;
  return hex([Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map((i) => CUBE[i] ?? 0));
}

function hex(levels: readonly number[]): string {
  const two = (level: number): string =>
    Math.min(255, Math.max(0, level)).toString(16).padStart(2, '0');
  return `#${[0, 1, 2].map((i) => two(levels[i] ?? 0)).join('')}`;
}
