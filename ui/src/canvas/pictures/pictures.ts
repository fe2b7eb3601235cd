/** Pictures of terminals that are not live here: the last one of each, and when it was taken. */

import { Store } from '../../state/store';

export interface Picture {
  readonly canvas: HTMLCanvasElement;
  /** In milliseconds. */
  readonly at: number;
}

/** Beyond that, the oldest are dropped. */
const KEPT = 80;

/** By terminal id. */
export const pictures = new Store<ReadonlyMap<string, Picture>>(new Map());

export function keepPicture(terminalId: string, canvas: HTMLCanvasElement | null): void {
  if (canvas === null) return;
  const now = new Map(pictures.get());
  now.delete(terminalId);
  now.set(terminalId, { canvas, at: Date.now() });
  const [oldest] = now.keys();
  if (now.size > KEPT && oldest !== undefined) now.delete(oldest);
  pictures.set(now);
}

/** A picture this old is taken anew while it is looked at. */
const STALE_MS = 20_000;
/** At most so many terminals are attached for a picture at once. */
const AT_ONCE = 2;

export interface Wanted {
  readonly sandboxId: string;
  readonly terminalId: string;
}

/** The terminals that somebody looks at from afar, by item. */
export const wanted = new Store<ReadonlyMap<string, Wanted>>(new Map());

export function want(item: string, one: Wanted): () => void {
  wanted.set((now) => new Map(now).set(item, one));
  return () =>
    wanted.set((now) => {
      const next = new Map(now);
      next.delete(item);
      return next;
    });
}

/** Those to take next: the ones without a picture first, then the oldest. Pure. */
export function nextOf(
  all: Iterable<Wanted>,
  taken: ReadonlyMap<string, Pick<Picture, 'at'>>,
  now: number,
): readonly Wanted[] {
  const once = new Map([...all].map((one) => [one.terminalId, one]));
  const age = ({ terminalId: id }: Wanted): number => now - (taken.get(id)?.at ?? 0);
  return [...once.values()]
    .filter((one) => age(one) > STALE_MS)
    .sort((a, b) => age(b) - age(a))
    .slice(0, AT_ONCE);
}
