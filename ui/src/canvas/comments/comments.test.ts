import { describe, expect, it } from 'vitest';

import { countOf, mentionsIn, promptOf } from './mentions';
import type { Item } from '../document/items';

const comment = (item: string, resolved: boolean) => ({
  id: 'c',
  item_id: item,
  author: 'p',
  author_name: null,
  mentions: [],
  text: '',
  at: '',
  resolved,
});

describe('comments', () => {
  it('become prompts that quote what they are about', () => {
    const item = { kind: 'agent', title: 'the \u001bheron', text: null, url: null } as Item;
    expect(promptOf({ text: 'Say why.' }, null)).toBe('Say why.');
    expect(promptOf({ text: 'Say why.' }, item)).toBe(
      'Say why.\n\nIt is about this:\n\n> the  heron',
    );
  });

  it('are counted while they are open', () => {
    const list = [comment('a', false), comment('a', false), comment('b', true)];
    expect([...countOf(list)]).toEqual([['a', 2]]);
  });

  it('mention people by their whole names', () => {
    const people = [
      { id: 'p_an', name: 'An' },
      { id: 'p_ann', name: 'Ann Lee' },
      { id: 'p_none', name: '' },
    ];
    expect(mentionsIn('@ann lee, look', people)).toEqual(['p_ann']);
    expect(mentionsIn('@An and @Ann Lee', people)).toEqual(['p_ann', 'p_an']);
    expect(mentionsIn('ann lee', people)).toEqual([]);
    expect(mentionsIn('@ann. @another one, mail me@an', people)).toEqual([]);
    expect(mentionsIn('(@an), @AN!', people)).toEqual(['p_an']);
    const odd = [{ id: 'p_odd', name: 'A. (B) $1' }];
    expect(mentionsIn('@a. (b) $1 and @ax (b) $1', odd)).toEqual(['p_odd']);
  });
});
