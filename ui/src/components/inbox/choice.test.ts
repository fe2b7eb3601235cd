import { expect, test } from 'vitest';
import { hold, seen, step } from './choice';

test('the same item stays chosen whatever comes before it', () => {
  expect(hold('b', ['a', 'b', 'c'])).toBe('b');
  expect(hold('b', ['new', 'a', 'b'])).toBe('b');
});

test('an item that was answered gives way to the first', () => {
  expect(hold('b', ['a', 'c'])).toBe('a');
  expect(hold(null, ['a'])).toBe('a');
  expect(hold('b', [])).toBeNull();
});

test('steps end at the ends', () => {
  expect(step('a', ['a', 'b'], 1)).toBe('b');
  expect(step('b', ['a', 'b'], 1)).toBe('b');
  expect(step('a', ['a', 'b'], -1)).toBe('a');
});

test('a key meant for the item before does not answer the next', () => {
  expect(seen(1000, 1100)).toBe(false);
  expect(seen(1000, 1600)).toBe(true);
});
