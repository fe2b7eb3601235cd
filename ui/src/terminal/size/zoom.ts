/** How a screen is shown that is not this window's size, and which of its lines. Pure. */

/** All of it, its width, or in the usual letters; what is out of view is scrolled to. */
export type Zoom = 'all' | 'width' | 'text';

export interface Zooming {
  readonly zoom: Zoom;
  /** Pixels of the letters now, at most, and at least. */
  readonly now: number;
  readonly most: number;
  readonly least: number;
  /** How often the screen, as it is now, fits beside and above itself into the window. */
  readonly wide: number;
  readonly high: number;
}

/** The pixels of the letters, and whether some of the screen is out of view then. */
export function zoomed({ zoom, now, most, least, wide, high }: Zooming): {
  readonly px: number;
  readonly pans: boolean;
} {
  const half = (ratio: number): number => Math.floor(now * ratio * 2) / 2;
  const all = Math.min(wide, high);
  const ideal = { all: half(all), width: half(wide), text: most }[zoom];
  const px = Math.max(least, Math.min(most, ideal));
  return { px, pans: px > half(all) };
}

interface Rows {
  /** The last row that is to be seen, from 0. */
  readonly last: number;
  readonly rowPx: number;
  readonly roomPx: number;
}

/** Pixels to scroll down until that row is in view, in whole rows. */
export function scrolled({ last, rowPx, roomPx }: Rows): number {
  const below = (last + 1) * rowPx - roomPx;
  return below <= 0 ? 0 : Math.ceil(below / rowPx) * rowPx;
}

/** The part of xterm's buffer that is read here. */
export interface Lines {
  readonly length: number;
  readonly baseY: number;
  readonly cursorY: number;
  getLine(
    y: number,
  ): { readonly isWrapped: boolean; translateToString(trim: boolean): string } | undefined;
}

/** All lines as plain text; those that the terminal wrapped are in one piece. */
export function textOf(buffer: Lines): string {
  const lines: string[] = [];
  for (let y = 0; y < buffer.length; y += 1) {
    const line = buffer.getLine(y);
    const text = line?.translateToString(true) ?? '';
    if (line?.isWrapped === true) lines.push((lines.pop() ?? '') + text);
    else lines.push(text);
  }
  return lines.join('\n').trimEnd();
}

/** The lowest row of the screen that is not blank, or the cursor's; from 0. */
export function newestOf(buffer: Lines, rows: number): number {
  const blank = (row: number): boolean =>
    (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? '') === '';
  let last = rows - 1;
  while (last > buffer.cursorY && blank(last)) last -= 1;
  return last;
}
