import { expect, test } from 'vitest';
import { firstPort, readAddress } from './places';

const NOW = { port: 3000, path: '/' };

test.each([
  ['/cart', 3000, '/cart'],
  ['cart?x=1#top', 3000, '/cart?x=1#top'],
  ['', 3000, '/'],
  ['?q=a b', 3000, '/?q=a%20b'],
  ['/ü', 3000, '/%C3%BC'],
  [':5173', 5173, '/'],
  [':5173/a', 5173, '/a'],
  ['localhost:8000/docs', 8000, '/docs'],
  ['http://127.0.0.1:8000?x', 8000, '/?x'],
])('%s is an address of a server inside', (typed, port, path) => {
  expect(readAddress(typed, NOW)).toEqual({ port, path });
});

test.each([
  'https://example.org/',
  '//example.org/x',
  '/\\example.org',
  'javascript:alert(1)',
  'http://localhost:3000.evil.org/',
  'http://localhost:99999/',
  `/${'x'.repeat(2_000)}`,
])('%s leads elsewhere, or nowhere', (typed) => {
  expect(readAddress(typed, NOW)).toBeNull();
});

test('a port that somebody chose comes before those of the system', () => {
  expect(firstPort([])).toBeNull();
  expect(firstPort([3000, 5173])).toBe(3000);
  expect(firstPort([40_000])).toBe(40_000);
  expect(firstPort([5173, 40_000])).toBe(5173);
});
