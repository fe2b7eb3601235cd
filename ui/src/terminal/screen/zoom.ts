/** How a screen is shown that is not this window's size. Pure. */

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
