import { expect, test } from 'vitest';
import { pullCommand } from './home';

const PLAIN = { repo: 0, branch: '', into: '', uncommitted: false };

test('the command of a plain pull is short', () => {
  expect(pullCommand('app-fix', PLAIN)).toBe('atoll pull app-fix');
});

test('the command names what was chosen, and quotes what a shell would read', () => {
  const wish = { repo: 1, branch: "a'$(x)", into: 'review', uncommitted: true };
  expect(pullCommand('app', wish)).toBe(
    "atoll pull app review --from 'a'\\''$(x)' --repo 1 --uncommitted",
  );
});

test('a quotation of another alphabet stays one word', () => {
  expect(pullCommand('app', { ...PLAIN, into: 'ä b' })).toBe("atoll pull app 'ä b'");
});
