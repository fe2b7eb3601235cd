/** Which dashboards the home page shows, and how it says who is on them. Pure. */

import type { BoardCard } from '../../api/overview';
import { t } from '../../language/t';

/** Those that somebody is on come first, then those that changed last. */
export function recentBoards(list: readonly BoardCard[], most: number): readonly BoardCard[] {
  return [...list]
    .sort(
      (a, b) =>
        Number(b.present.length > 0) - Number(a.present.length > 0) ||
        b.updated_at.localeCompare(a.updated_at),
    )
    .slice(0, most);
}

/** `Ann and Bob are here`. */
export function hereWords(names: readonly string[]): string {
  const [first = '', second = ''] = names;
  if (names.length === 1) return t`${first} is here`;
  if (names.length === 2) return t`${first} and ${second} are here`;
  return t`${first} and ${names.length - 1} others are here`;
}
