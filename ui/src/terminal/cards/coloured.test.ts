import { expect, test } from 'vitest';
import { PLAIN, runsOf, withoutColours } from './coloured';

const ESC = '\u001b';

test('plain text is one run', () => {
  expect(runsOf('ls\n')).toEqual([{ text: 'ls\n', look: PLAIN }]);
  expect(runsOf('')).toEqual([]);
});

test('colours and weight last until they are changed', () => {
  expect(runsOf(`${ESC}[1;31mred${ESC}[39m bold${ESC}[m plain`)).toEqual([
    { text: 'red', look: { ...PLAIN, bold: true, front: 1 } },
    { text: ' bold', look: { ...PLAIN, bold: true } },
    { text: ' plain', look: PLAIN },
  ]);
});

test.each([
  ['38;5;9', { front: 9 }],
  ['38;5;196', { front: '#ff0000' }],
  ['48;5;244', { back: '#808080' }],
  ['38;2;1;2;300', { front: '#0102ff' }],
  ['97;101', { front: 15, back: 9 }],
  ['38;5;999', {}],
  ['38', {}],
  ['3;4;7;2', { italic: true, underline: true, inverse: true, dim: true }],
  ['38:2::1:2:3', { front: '#010203' }],
  ['48:2:1:2:3;1', { back: '#010203', bold: true }],
  ['38:2:4:0:6', { front: '#040006' }],
  ['58:2::0:1:4', {}],
  ['4;58;5;1', { underline: true }],
  ['38:5:196', { front: '#ff0000' }],
  ['4:3', { underline: true }],
  ['4;4:0', {}],
  ['9', { strike: true }],
  ['9;29', {}],
  ['99', {}],
])('%s', (parameters, look) => {
  expect(runsOf(`${ESC}[${parameters}mx`)).toEqual([{ text: 'x', look: { ...PLAIN, ...look } }]);
});

test('too many runs are shown without colours', () => {
  const text = `${ESC}[31ma${ESC}[32mb`.repeat(3_000);
  expect(runsOf(text)).toEqual([{ text: 'ab'.repeat(3_000), look: PLAIN }]);
  expect(withoutColours(text)).toBe('ab'.repeat(3_000));
});
