import { expect, test } from 'vitest';
import { beginningWords } from './beginning';

const REFS = [
  { name: 'refs/heads/main', commit: 'a'.repeat(40) },
  { name: 'refs/heads/mine', commit: 'b'.repeat(40) },
  { name: 'refs/tags/v1', commit: 'c'.repeat(40) },
];
const SENT = { key: 'ab'.repeat(16), address: 'local/demo' };
const REMOTE = { key: 'github.com/o/r', address: 'https://github.com/o/r' };

const words = (branch: string, from = '', place = REMOTE): string | null =>
  beginningWords(REFS, { branch, from }, place);

test('a branch that the server has goes on', () => {
  expect(words(' mine ')).toBe('Goes on from mine at bbbbbbbbbbbb');
});

test('a branch that it never got says where it begins, and how to send it', () => {
  expect(words('other')).toBe('New: it begins at main (aaaaaaaaaaaa)');
  expect(words('other', '', SENT)).toBe(
    'New: it begins at main (aaaaaaaaaaaa). If your checkout has it, send it first: atoll new . other',
  );
});

test('another beginning is said where the branch is there', () => {
  expect(words('mine', 'v1')).toMatch('begins at v1 all the same');
  expect(words('other', 'v1')).toBeNull();
});

test('nothing is said of no branch, nor of an empty repository', () => {
  expect(words('')).toBeNull();
  expect(beginningWords([], { branch: 'other', from: '' }, SENT)).toBeNull();
});
