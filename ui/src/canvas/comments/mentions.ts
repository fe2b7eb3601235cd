/** What comments say: how many are open, whom a text mentions, and what an agent is asked. Pure. */

import { t } from '../../language/t';
import { quoted } from '../../unseen';
import { nameOf, type Item } from '../document/items';
import { wordsOf } from '../document/rich';
import type { Comment } from '../list/api';

const SPECIAL = /[\\^$.*+?()[\]{}|/]/g;
const BEFORE = '(?<![\\p{L}\\p{N}_])';
const AFTER = '(?![\\p{L}\\p{N}_])';

/** How many are open on each item. Pure. */
export function countOf(list: readonly Comment[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { item_id: item, resolved } of list)
    if (!resolved) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

/** The people whose names stand in a text after `@`, the longest name first. A name ends where its
 *  word does: `@ann` is not in `@anna`. Pure. */
export function mentionsIn(
  text: string,
  people: readonly { readonly id: string; readonly name: string }[],
): readonly string[] {
  let rest = text.toLowerCase();
  const found: string[] = [];
  for (const { id, name } of [...people].sort((a, b) => b.name.length - a.name.length)) {
    if (name === '') continue;
    const word = name.toLowerCase().replaceAll(SPECIAL, '\\$&');
    const left = rest.replaceAll(new RegExp(`${BEFORE}@${word}${AFTER}`, 'gu'), ' ');
    if (left === rest) continue;
    found.push(id);
    rest = left;
  }
  return found;
}

const MAX_QUOTED = 4_000;

/** A prompt that asks for what a comment says, and quotes the item that it is about. */
export function promptOf({ text }: Pick<Comment, 'text'>, item: Item | null): string {
  if (item === null) return text;
  const words = wordsOf(item.text).trim() || nameOf(item);
  return `${text}\n\n${t`It is about this:`}\n\n${quoted(words).slice(0, MAX_QUOTED)}`;
}
