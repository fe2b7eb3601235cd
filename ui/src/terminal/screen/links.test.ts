import { expect, it } from 'vitest';

import { followable } from './links';

it('follows http and https only', () => {
  expect(followable('https://example.com/a?b#c')).toBe('https://example.com/a?b#c');
  expect(followable('http://localhost:3000')).toBe('http://localhost:3000/');
  for (const bad of ['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', 'x', '']) {
    expect(followable(bad)).toBeNull();
  }
});
