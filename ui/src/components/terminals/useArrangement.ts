/** Which terminals of a sandbox are in view at once, where, and the acts that change it. */

import { useMemo, useState } from 'react';
import type { Terminal } from '../../api/types';
import { t } from '../../language/t';
import { openTerminal } from '../../state/acts';
import { announce } from '../../state/announce';
import { arrange, layouts } from '../../terminal/layout/layouts';
import { go } from '../../state/route';
import { phone } from '../../state/screen';
import { useStore } from '../../state/store';
import {
  gridOf,
  neighbour,
  only,
  panesOf,
  splitAt,
  withShare,
  type Direction,
  type Layout,
  type Side,
} from '../../terminal/layout/layout';

/** The pane that is no terminal: the route's word for its tab, and its place in a layout. */
export const PREVIEW = 'preview';
/** More at once are too small to read. */
const GRID_MAX = 9;

export interface Arrangement {
  /** What is in view; null when one terminal has the whole view. */
  readonly shown: Layout | null;
  /** One terminal and one line above it; the rest of the page is put away. */
  readonly zoomed: boolean;
  /** Whether there is anything to arrange: a terminal is chosen, on a screen with room. */
  readonly possible: boolean;
  /** Opens a terminal beside the chosen one; null for whoever only watches. */
  readonly split: ((direction: Direction) => void) | null;
  /** Shows the preview beside the chosen terminal, or no longer. */
  readonly preview: () => void;
  readonly grid: () => void;
  readonly zoom: () => void;
  readonly move: (side: Side) => void;
  readonly divide: (path: readonly number[], share: number) => void;
}

/** A sandbox, and whether the person opens terminals in it. */
interface Where {
  readonly id: string;
  readonly works: boolean;
}

/** The arrangement of a sandbox. A chosen terminal that is not part of it is shown alone; the
 *  arrangement is there again when one of its own is chosen. */
export function useArrangement(
  { id, works }: Where,
  list: readonly Terminal[],
  chosen: string,
): Arrangement {
  const stored = useStore(layouts)[id] ?? null;
  const [zoomed, setZoomed] = useState(false);
  const layout = useMemo(() => {
    const there = new Set(list.map((terminal) => terminal.terminal_id));
    return stored === null ? null : only(stored, (pane) => there.has(pane) || pane === PREVIEW);
  }, [stored, list]);
  const isTerminal = list.some((terminal) => terminal.terminal_id === chosen);
  const inside = layout !== null && typeof layout !== 'string' && panesOf(layout).includes(chosen);
  const possible = (isTerminal || (inside && chosen === PREVIEW)) && !phone.matches;
  const shown = possible && inside && !zoomed ? layout : null;

  async function split(direction: Direction): Promise<void> {
    const added = await openTerminal(id);
    if (added === null) return;
    arrange(id, splitAt(layout !== null && inside ? layout : chosen, chosen, direction, added));
    setZoomed(false);
  }

  function preview(): void {
    if (shown !== null && panesOf(shown).includes(PREVIEW)) {
      arrange(
        id,
        only(shown, (pane) => pane !== PREVIEW),
      );
      if (chosen === PREVIEW) go(id, panesOf(shown).find((pane) => pane !== PREVIEW) ?? null);
      return;
    }
    const others = layout !== null && inside ? only(layout, (pane) => pane !== PREVIEW) : null;
    arrange(id, splitAt(others ?? chosen, chosen, 'row', PREVIEW));
    setZoomed(false);
    announce(t`The preview is beside the terminal.`);
  }

  function grid(): void {
    if (shown !== null) {
      arrange(id, null);
      announce(t`One terminal at a time.`);
      return;
    }
    const first = list.map((terminal) => terminal.terminal_id).filter((one) => one !== chosen);
    arrange(id, gridOf([chosen, ...first].slice(0, GRID_MAX)));
    setZoomed(false);
    announce(t`All terminals in a grid.`);
  }

  function zoom(): void {
    if (!possible) return;
    setZoomed(!zoomed);
    announce(zoomed ? t`All of the page again.` : t`This terminal alone.`);
  }

  function move(side: Side): void {
    const next = shown === null ? null : neighbour(shown, chosen, side);
    if (next !== null) go(id, next);
  }

  function divide(path: readonly number[], share: number): void {
    if (layout !== null) arrange(id, withShare(layout, path, share));
  }

  return {
    shown,
    zoomed: possible && zoomed,
    possible,
    split: works ? (direction) => void split(direction) : null,
    preview,
    grid,
    zoom,
    move,
    divide,
  };
}
