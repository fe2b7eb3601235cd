import { describe, expect, it } from 'vitest';

import { countOf, mentionsIn } from './mentions';

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
