import { expect, test } from 'vitest';
import type { Control, Party } from './party';
import { ownedPointers, pointersOf, pointsForOthers } from './pointers';

const ann: Party = { principal: 'ann', name: 'Ann', client: 'a', role: 'owner' };
const bob: Party = { principal: 'bob', name: 'Bob', client: 'b', role: 'controller' };
const also: Party = { ...ann, client: 'a2' };

const control = (...watchers: readonly Party[]): Control => ({
  driver: ann,
  epoch: 1,
  waiting: [],
  watchers,
  away: false,
  agent: null,
});

test('pointers are read cell by cell, and broken ones are left out', () => {
  const read = pointersOf([
    { client: 'b', at: [1, 2], selected: [0, 0, 1, 4] },
    { client: 'c', at: ['1', 2], selected: [0, 0] },
    { at: [1, 2] },
    7,
  ]);
  expect(read).toEqual([
    { client: 'b', at: [1, 2], selected: [0, 0, 1, 4] },
    { client: 'c', at: null, selected: null },
  ]);
  expect(pointersOf('x')).toEqual([]);
});

test('only pointers of others who are here are shown', () => {
  const pointers = pointersOf([
    { client: 'a', at: [1, 1] },
    { client: 'b', at: [2, 2] },
    { client: 'gone', at: [3, 3] },
  ]);
  const owned = ownedPointers(pointers, control(ann, bob), ann);
  expect(owned.map(({ party }) => party.name)).toEqual(['Bob']);
  expect(ownedPointers(pointers, null, ann)).toEqual([]);
});

test('nobody points while alone', () => {
  expect(pointsForOthers(control(ann, also), ann)).toBe(false);
  expect(pointsForOthers(control(ann, bob), ann)).toBe(true);
  expect(pointsForOthers(null, ann)).toBe(false);
});
