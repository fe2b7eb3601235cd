/** What comments say: how many are open, and whom a text mentions. Pure. */

import type { Comment } from '../list/api';

/** How many are open on each item. Pure. */
export function countOf(list: readonly Comment[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { item_id: item, resolved } of list)
    if (!resolved) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

/** The people whose names stand in a text after `@`, the longest name first. Pure. */
export function mentionsIn(
  text: string,
  people: readonly { readonly id: string; readonly name: string }[],
): readonly string[] {
  let rest = text.toLowerCase();
  const found: string[] = [];
  for (const { id, name } of [...people].sort((a, b) => b.name.length - a.name.length)) {
    const word = `@${name.toLowerCase()}`;
    if (name === '' || !rest.includes(word)) continue;
    found.push(id);
    rest = rest.replaceAll(word, '');
  }
  return found;
}
