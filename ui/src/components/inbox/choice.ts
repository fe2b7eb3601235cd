/** Which item of the inbox is chosen. Pure. */

/** A key answers an item that was chosen this long: enough to see that it is another one. */
const SEEN_MS = 600;

/** The choice while the list is `ids`: the same item, else the first. */
export function hold(before: string | null, ids: readonly string[]): string | null {
  return before !== null && ids.includes(before) ? before : (ids[0] ?? null);
}

/** The choice `by` items further; the ends hold. */
export function step(from: string, ids: readonly string[], by: number): string {
  const at = Math.min(ids.length - 1, Math.max(0, ids.indexOf(from) + by));
  return ids[at] ?? from;
}

/** Whether a key may answer an item that was chosen at `since`, in milliseconds. */
export function seen(since: number, now: number): boolean {
  return now - since >= SEEN_MS;
}
