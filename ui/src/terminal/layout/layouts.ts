/** How each sandbox's terminals share its view, and how large their text is; kept in this browser. */

import { readLayout, type Layout } from './layout';
import { Store } from '../../state/store';

const LAYOUTS_KEY = 'atoll.layouts';
const TEXT_KEY = 'atoll.text';
const RAIL_KEY = 'atoll.rail';
const POINTERS_KEY = 'atoll.pointers';
/** Beyond that, the layouts of the sandboxes looked at longest ago are dropped. */
const KEPT = 40;

export const TEXT_PX = 13.5;
const TEXT_MIN_PX = 8;
const TEXT_MAX_PX = 28;

/** Whether the rail is folded away on a wide screen. */
export const railFolded = new Store(localStorage.getItem(RAIL_KEY) === 'folded');

/** Whether people at one terminal see where each other point. */
export const pointersShown = new Store(localStorage.getItem(POINTERS_KEY) !== 'off');

/** Shows pointers, own and others', or no longer. */
export function showPointers(on: boolean): void {
  pointersShown.set(on);
  localStorage.setItem(POINTERS_KEY, on ? 'on' : 'off');
}

/** Folds the rail, or unfolds it. */
export function foldRail(): void {
  railFolded.set((folded) => !folded);
  localStorage.setItem(RAIL_KEY, railFolded.get() ? 'folded' : 'open');
}

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

/** The tabs of each sandbox in the order a person gave them, by terminal id. */
export const orders = new Store<Readonly<Record<string, readonly string[]>>>({});

/** The ids as a person ordered them; those never moved keep their place after the ones before. */
export function ordered(ids: readonly string[], wanted: readonly string[]): readonly string[] {
  const known = wanted.filter((id) => ids.includes(id));
  return known.length === 0 ? ids : [...known, ...ids.filter((id) => !known.includes(id))];
}

/** Moves one of the tabs by so many places; at an end it stays. */
export function moveTab(sandbox: string, ids: readonly string[], id: string, by: number): void {
  const from = ids.indexOf(id);
  const to = from + by;
  if (from < 0 || to < 0 || to >= ids.length) return;
  const next = ids.filter((one) => one !== id);
  next.splice(to, 0, id);
  orders.set((now) => ({ ...now, [sandbox]: next }));
}

/** Makes the letters of terminals larger or smaller by so many steps; 0 makes them as at first. */
export function resizeText(steps: number): void {
  const px = steps === 0 ? TEXT_PX : textSize.get() + steps;
  textSize.set(Math.min(TEXT_MAX_PX, Math.max(TEXT_MIN_PX, px)));
  localStorage.setItem(TEXT_KEY, String(textSize.get()));
}
