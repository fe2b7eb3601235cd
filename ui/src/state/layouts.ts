/** How each sandbox's terminals share its view, and how large their text is; kept in this browser. */

import { readLayout, type Layout } from '../terminal/layout/layout';
import { Store } from './store';

const LAYOUTS_KEY = 'atoll.layouts';
const TEXT_KEY = 'atoll.text';
/** Beyond that, the layouts of the sandboxes looked at longest ago are dropped. */
const KEPT = 40;

export const TEXT_PX = 13.5;
const TEXT_MIN_PX = 8;
const TEXT_MAX_PX = 28;

/** By sandbox id; only of those that were split. */
export const layouts = new Store<Readonly<Record<string, Layout>>>(storedLayouts());
/** Pixels of a terminal's letters where they need not shrink. */
export const textSize = new Store(storedSize());

function storedLayouts(): Record<string, Layout> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(LAYOUTS_KEY) ?? '{}');
    if (typeof value !== 'object' || value === null) return {};
    const read = Object.entries(value).map(([id, one]) => [id, readLayout(one)] as const);
    return Object.fromEntries(
      read.filter((entry): entry is readonly [string, Layout] => entry[1] !== null).slice(-KEPT),
    );
  } catch {
    return {};
  }
}

function storedSize(): number {
  const px = Number(localStorage.getItem(TEXT_KEY));
  return px >= TEXT_MIN_PX && px <= TEXT_MAX_PX ? px : TEXT_PX;
}

/** Keeps a sandbox's layout; null forgets it. */
export function arrange(id: string, layout: Layout | null): void {
  const others = Object.entries(layouts.get()).filter(([one]) => one !== id);
  const split = layout !== null && typeof layout !== 'string';
  const next = Object.fromEntries(
    (split ? [...others, [id, layout] as const] : others).slice(-KEPT),
  );
  layouts.set(next);
  localStorage.setItem(LAYOUTS_KEY, JSON.stringify(next));
}

/** Makes the letters of terminals larger or smaller by so many steps; 0 makes them as at first. */
export function resizeText(steps: number): void {
  const px = steps === 0 ? TEXT_PX : textSize.get() + steps;
  textSize.set(Math.min(TEXT_MAX_PX, Math.max(TEXT_MIN_PX, px)));
  localStorage.setItem(TEXT_KEY, String(textSize.get()));
}
