import { describe, expect, it, test } from 'vitest';
import {
  SILENT,
  countOf,
  errorsPrompt,
  limiter,
  loading,
  pickedPrompt,
  withPicture,
  readMessage,
  withMessage,
  type Message,
  type Reports,
} from './reports';

const error = (text: string): Message => ({ kind: 'error', source: 'console', text });

function after(messages: readonly Message[], start: Reports = SILENT): Reports {
  return messages.reduce(withMessage, start);
}

test.each([
  null,
  'ready',
  [],
  { kind: 'ready' },
  { atoll: 'preview' },
  { atoll: 'preview', kind: 'open' },
  { atoll: 'preview', kind: 'error', source: 'console' },
  { atoll: 'preview', kind: 'error', source: 'atoll', text: 'x' },
  { atoll: 'preview', kind: 'error', source: 'console', text: { length: 1 } },
  { atoll: 'preview', kind: 'error', source: 'console', text: 'x'.repeat(2_001) },
  { atoll: 'preview', kind: 'picked', selector: 'a', text: 'x' },
  { atoll: 'preview', kind: 'picked', selector: 'x'.repeat(5_000), text: 'x', path: '/' },
])('%j is no message of the reporter', (data) => {
  expect(readMessage(data)).toBeNull();
});

test('only what is known of a message is kept', () => {
  const data = { atoll: 'preview', kind: 'error', source: 'uncaught', text: 'x', html: '<b>' };
  expect(readMessage(data)).toEqual({ kind: 'error', source: 'uncaught', text: 'x' });
  expect(readMessage({ atoll: 'preview', kind: 'ready', x: 1 })).toEqual({ kind: 'ready' });
});

describe('withMessage', () => {
  it('counts the same error once more', () => {
    const { errors } = after([error('a'), error('b'), error('a')]);
    expect(errors.map(({ text, times }) => [text, times])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  it('keeps a bounded number of errors', () => {
    const found = after(Array.from({ length: 20_000 }, (_, at) => error(String(at))));
    expect(found.errors).toHaveLength(50);
    expect(found.more).toBe(9_999);
    expect(countOf(found)).toBe(10_049);
  });

  it('takes an element only while its person points', () => {
    const picked: Message = { kind: 'picked', path: '/', selector: 'a', text: 'x' };
    expect(after([picked]).picked).toBeNull();
    const found = after([picked, { ...picked, selector: 'b' }], { ...SILENT, picking: true });
    expect(found.picked?.selector).toBe('a');
    expect(found.picking).toBe(false);
    // Nothing that the page does takes it away from who writes of it.
    expect(after([{ kind: 'ready' }, error('a')], loading(found)).picked).toBe(found.picked);
    expect(after([{ kind: 'pick-ended' }], { ...SILENT, picking: true }).picking).toBe(false);
  });

  it('takes one picture, and only of an element that was picked', () => {
    const png = new ArrayBuffer(8);
    const picture: Message = { kind: 'picture', png };
    expect(after([picture]).picture).toBe('none');
    const picked: Message = { kind: 'picked', path: '/', selector: 'a', text: 'x' };
    const coming = after([picked], { ...SILENT, picking: true });
    expect(coming.picture).toBe('coming');
    const found = after([picture, { kind: 'picture', png: new ArrayBuffer(9) }], coming);
    expect(found.picture).toBe(png);
    expect(after([{ kind: 'picture', png: null }], coming).picture).toBe('none');
    // One that was taken outlives its document; one that was not never comes.
    expect(after([{ kind: 'ready' }], loading(found)).picture).toBe(png);
    expect(loading(coming).picture).toBe('none');
    expect(after([{ kind: 'ready' }, picture], coming).picture).toBe('none');
  });

  it('begins anew with a document', () => {
    expect(after([error('a'), { kind: 'ready' }])).toEqual({ ...SILENT, speaks: true });
  });
});

test('a prompt names the file of a picture', () => {
  expect(withPicture('Make it green.\n', '/workspace/a.png')).toBe(
    'Make it green.\n\nA picture of it: /workspace/a.png',
  );
});

test('messages are read up to a rate', () => {
  const admits = limiter();
  const read = Array.from({ length: 500 }, () => admits(5_000)).filter(Boolean);
  expect(read).toHaveLength(60);
  expect(admits(6_000)).toBe(true);
});

test('a prompt quotes every line, and nothing that controls a terminal', () => {
  const one = { source: 'console' as const, text: 'a\u001b[2J\r\n\nb\u202e', times: 3 };
  const errors = [one];
  expect(errorsPrompt(errors, 3000).split('\n').slice(2)).toEqual(['> a [2J', '> b']);
  const long = Array.from({ length: 50 }, () => ({ ...one, text: 'x'.repeat(2_000) }));
  expect(errorsPrompt(long, 3000).length).toBeLessThanOrEqual(8_000);
  const picked = pickedPrompt({ path: '/a\u0007', selector: 'p > b', text: ' Buy\nnow ' }, 3000);
  expect(picked).toContain('> p > b\n> Buy\n> now\n\n');
  expect(picked).not.toContain('\u0007');
});
