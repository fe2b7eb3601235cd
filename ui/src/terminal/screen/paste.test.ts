import { expect, it } from 'vitest';

import { cleanPaste } from './paste';

it('keeps text, tabs and line breaks', () => {
  expect(cleanPaste('a\tb\r\nc\n é 漢 🙂')).toBe('a\tb\r\nc\n é 漢 🙂');
});

it('takes the sting out of an early end of a bracketed paste', () => {
  expect(cleanPaste('ls\x1b[201~\rrm -rf x\x9b201~')).toBe('ls[201~\rrm -rf x201~');
});
