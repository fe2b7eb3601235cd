import * as Y from 'yjs';
import { describe, expect, it } from 'vitest';

import { addressWords, safeAddress, typedAddress } from './links';
import { applyRuns, difference, linesOf, linkTo, mark, marksAt } from './rich';
import { runsOf, styleAt, styleLines, wordsOf } from './rich';

function textOf(words: string): Y.Text {
  const text = new Y.Doc().getText('t');
  text.insert(0, words);
  return text;
}

describe('rich text', () => {
  it('has lines, each with where it begins', () => {
    const lines = linesOf(runsOf(textOf('one\n\nthree')));
    expect(lines.map(({ start, length }) => [start, length])).toEqual([
      [0, 3],
      [4, 0],
      [5, 5],
    ]);
    expect(linesOf([])).toHaveLength(1);
  });

  it('keeps the style of a line on its break', () => {
    const text = textOf('one\ntwo\nthree');
    styleLines(text, 5, 5, 'bullet');
    expect(linesOf(runsOf(text)).map(({ style }) => style)).toEqual(['plain', 'bullet', 'plain']);
    styleLines(text, 9, 9, 'heading');
    expect(linesOf(runsOf(text)).map(({ style }) => style)).toEqual([
      'plain',
      'bullet',
      'heading',
      'plain',
    ]);
    expect(styleAt(runsOf(text), 6)).toBe('bullet');
    styleLines(text, 5, 5, 'plain');
    expect(styleAt(runsOf(text), 6)).toBe('plain');
  });

  it('is the same when it is written again', () => {
    const text = textOf('bold and link\nlist');
    mark(text, 0, 4, 'bold', true);
    linkTo(text, 9, 13, 'https://example.com/');
    styleLines(text, 0, 0, 'ordered');
    const copy = new Y.Doc().getText('t');
    applyRuns(copy, 0, runsOf(text));
    expect(copy.toDelta()).toEqual(text.toDelta());
  });

  it('has the marks that all of it has', () => {
    const text = textOf('abcd');
    mark(text, 0, 3, 'bold', true);
    mark(text, 1, 4, 'code', true);
    const runs = runsOf(text);
    expect([...marksAt(runs, 1, 3)]).toEqual(['bold', 'code']);
    expect([...marksAt(runs, 0, 4)]).toEqual([]);
    expect([...marksAt(runs, 4, 4)]).toEqual(['code']);
    mark(text, 0, 4, 'bold', false);
    expect([...marksAt(runsOf(text), 0, 2)]).toEqual([]);
  });

  it('of anybody follows no address but http', () => {
    const text = textOf('x');
    text.format(0, 1, { link: 'javascript:alert(1)', bold: 'yes', list: 9 });
    expect(runsOf(text)).toEqual([{ text: 'x' }]);
    text.insertEmbed(0, { image: 'x' });
    expect(wordsOf(text)).toBe('\uFFFCx');
  });
});

describe('the difference of texts', () => {
  it.each([
    ['', 'a', 1, { at: 0, removed: 0, added: 'a' }],
    ['aaa', 'aaaa', 2, { at: 2, removed: 0, added: 'a' }],
    ['abc', 'ac', 1, { at: 1, removed: 1, added: '' }],
    ['hello', 'help me', 4, { at: 3, removed: 2, added: 'p me' }],
    ['same', 'same', 2, { at: 4, removed: 0, added: '' }],
  ])('from %j to %j', (before, after, caret, expected) => {
    const found = difference(before, after, caret);
    const made = before.slice(0, found.at) + found.added + before.slice(found.at + found.removed);
    expect(made).toBe(after);
    expect([found.removed, found.added.length]).toEqual([expected.removed, expected.added.length]);
  });
});

describe('addresses', () => {
  it('are http or none', () => {
    expect(safeAddress('https://example.com')).toBe('https://example.com/');
    for (const bad of ['javascript:1', 'data:text/html,x', 'file:///etc/passwd', '//x', '', 'x y'])
      expect(safeAddress(bad)).toBeNull();
    expect(typedAddress('example.com')).toBe('https://example.com/');
    expect(typedAddress('two words.com')).toBeNull();
    expect(addressWords('https://www.example.com/')).toBe('example.com');
  });
});
