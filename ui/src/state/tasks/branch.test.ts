import { expect, test } from 'vitest';
import { branchForAgent, proposedBranch } from './branch';

test.each([
  ['Please fix the login page!', 'fix-login-page'],
  ["fix #12: can't save\nand more below", 'fix-12-cant-save'],
  ['Räume die Fußnoten auf', 'raume-die-funoten-auf'],
  ['can you', 'can-you'],
  ['../../etc/passwd --force ~^:', 'etc-passwd-force'],
  ['你好', ''],
  ['x'.repeat(100), 'x'.repeat(40)],
])('%s proposes %s', (sentence, branch) => {
  expect(proposedBranch(sentence)).toBe(branch);
});

test('several agents get a branch each', () => {
  expect(branchForAgent('fix', 'claude-code')).toBe('fix-claude-code');
});
