/** The grid of letters that the box of a pane has room for, the same for everybody. Pure. */

import type { Box } from '../document/items';

/** Units above a pane's body, and around a terminal's letters. */
export const HEAD = 36;
const ROOM = { w: 20, h: 14 } as const;
/** A letter of the usual size (13.5 px) in the page's own font. */
const CELL = { w: 7.95, h: 19 } as const;
const LEAST = { cols: 20, rows: 5 } as const;

export function gridOf({ w, h }: Pick<Box, 'w' | 'h'>): { cols: number; rows: number } {
  return {
    cols: Math.max(LEAST.cols, Math.floor((w - ROOM.w) / CELL.w)),
    rows: Math.max(LEAST.rows, Math.floor((h - HEAD - ROOM.h) / CELL.h)),
  };
}
