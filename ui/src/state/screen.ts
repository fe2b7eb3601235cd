/** What kind of screen the page is on. */

import { useCallback, useSyncExternalStore } from 'react';

export const phone = window.matchMedia('(pointer: coarse) and (max-width: 760px)');
export const narrow = window.matchMedia('(max-width: 760px)');
/** Each side of a diff has room for 60 characters. */
export const roomForDiff = window.matchMedia('(min-width: 1601px)');
/** Each side of a conflict has room for 40 characters. */
export const roomForConflict = window.matchMedia('(min-width: 1280px)');

/** Whether the screen is of a kind, also when its window changes. */
export function useMatches(kind: MediaQueryList): boolean {
  const subscribe = useCallback(
    (changed: () => void) => {
      kind.addEventListener('change', changed);
      return () => kind.removeEventListener('change', changed);
    },
    [kind],
  );
  return useSyncExternalStore(subscribe, () => kind.matches);
}

/** Whether an agent is better read as cards than as a terminal here. */
export function prefersCards(): boolean {
  return narrow.matches;
}
