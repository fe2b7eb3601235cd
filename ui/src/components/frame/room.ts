/** Where notices lie: over nothing that is read or pressed, as far as there is such room. */

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** What a notice must not lie over: acts, titles, facts, and the cursor of a terminal. */
const KEPT_FREE = [
  'a[href], button, input, textarea, select, summary, [role="tab"], [role="combobox"]',
  'h1, h2, [role="alert"], .facts > *, .state, .dialog, .row',
].join();
const GAP_PX = 12;

/** The corner of a box of this size that covers least, in pixels of the window. */
export function freeRoom(own: HTMLElement, width: number, height: number): Box {
  const stage = document.querySelector('.stage')?.getBoundingClientRect();
  const within = stage ?? { left: 0, top: 0, right: window.innerWidth, bottom: window.innerHeight };
  const kept = [...document.querySelectorAll<HTMLElement>(KEPT_FREE)]
    .filter((part) => !own.contains(part) && part.checkVisibility({ visibilityProperty: true }))
    .map((part) => part.getBoundingClientRect())
    .filter((box) => box.width > 0 && box.height > 0);
  return leastCovering(placesIn(within, width, height), kept);
}

/** The first of the boxes that lie over the fewest others. */
export function leastCovering(places: readonly Box[], kept: readonly Box[]): Box {
  const counted = places.map((place) => kept.filter((box) => meet(place, box)).length);
  const found = places[counted.indexOf(Math.min(...counted))];
  if (found === undefined) throw new Error('no place was offered');
  return found;
}

/** Places in the middle, at the right and at the left, from below the head and from the foot on. */
export function placesIn(within: Box, width: number, height: number): readonly Box[] {
  const room = within.right - within.left - width;
  const lefts = [within.left + room / 2, within.right - GAP_PX - width, within.left + GAP_PX];
  const step = height / 2 + GAP_PX;
  const rows = Math.max(1, Math.floor((within.bottom - within.top - height - GAP_PX) / step));
  return Array.from({ length: rows }, (_, row) => within.top + GAP_PX + row * step).flatMap((top) =>
    lefts.map((left) => ({ left, top, right: left + width, bottom: top + height })),
  );
}

function meet(one: Box, other: Box): boolean {
  const across = one.left < other.right && other.left < one.right;
  return across && one.top < other.bottom && other.top < one.bottom;
}
