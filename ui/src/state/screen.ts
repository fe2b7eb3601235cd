/** What kind of screen the page is on. */

export const phone = window.matchMedia('(pointer: coarse) and (max-width: 760px)');
const narrow = window.matchMedia('(max-width: 760px)');

/** Whether an agent is better read as cards than as a terminal here. */
export function prefersCards(): boolean {
  return narrow.matches;
}
