import { expect, it } from 'vitest';
import type { BoardCard } from '../../api/overview';
import { hereWords, recentBoards } from './boards';

function board(id: string, updated_at: string, ...names: string[]): BoardCard {
  const present = names.map((name) => ({ id: name, name }));
  return { id, updated_at, present } as unknown as BoardCard;
}

it('shows dashboards with people first, then those that changed last', () => {
  const list = [
    board('a', '2026-01-03'),
    board('b', '2026-01-01', 'Ann'),
    board('c', '2026-01-02'),
  ];
  expect(recentBoards(list, 2).map(({ id }) => id)).toEqual(['b', 'a']);
});

it('says who is there in few words', () => {
  expect(hereWords(['Ann'])).toBe('Ann is here');
  expect(hereWords(['Ann', 'Bob'])).toBe('Ann and Bob are here');
  expect(hereWords(['Ann', 'Bob', 'Eve'])).toBe('Ann and 2 others are here');
});
