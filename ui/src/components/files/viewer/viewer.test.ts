import { describe, expect, it } from 'vitest';
import { COLUMNS_MAX, separatorOf, tableOf, widthsOf } from './csv';
import { imageType, kindOf, pixelsOf, wideText } from './kinds';
import { found, lineAt, LINES_MAX, linesOf, partOf } from './lines';
import { pathOf } from './Markdown';
import { blocksOf, inlineOf, type Block } from './markdown';
import { Syntax } from './syntax';

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (one) => one.charCodeAt(0));
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('kinds', () => {
  it('are told by bytes, whatever the name says', () => {
    expect(kindOf('a.png', utf8('<script>alert(1)</script>'))).toBe('text');
    expect(kindOf('a.html', bytes('\x89PNG\r\n\x1a\n'))).toBe('image');
    expect(kindOf('a.svg', utf8('<svg onload="x">'))).toBe('text');
    expect(kindOf('a', utf8('%PDF-1.7'))).toBe('pdf');
    expect(kindOf('a.md', bytes('a\0b'))).toBe('binary');
    expect(kindOf('a.md', utf8('# a'))).toBe('markdown');
    expect(kindOf('a.tsv', utf8('a\tb'))).toBe('table');
    expect(kindOf('a.txt', bytes('\xff\xfea\0'))).toBe('text');
    expect(wideText(bytes('\xfe\xff'))).toBe('utf-16be');
    expect(imageType(bytes('RIFF0000WEBP'))).toBe('image/webp');
  });

  it('of images have the size that their bytes say', () => {
    const png = bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\0\x02');
    expect(pixelsOf(png)).toEqual({ width: 256, height: 2 });
    expect(pixelsOf(bytes('GIF89a\x03\0\x04\0'))).toEqual({ width: 3, height: 4 });
    const jpeg = bytes('\xff\xd8\xff\xe0\0\x04xx\xff\xc0\0\x11\x08\0\x05\0\x06');
    expect(pixelsOf(jpeg)).toEqual({ width: 6, height: 5 });
    expect(pixelsOf(bytes('RIFF0000WEBPVP8X\0\0\0\0\0\0\0\0\x09\0\0\x07\0\0'))).toEqual({
      width: 10,
      height: 8,
    });
    expect(pixelsOf(png.subarray(0, 12))).toBeNull();
    expect(pixelsOf(bytes('\xff\xd8\xffx'))).toBeNull();
    expect(pixelsOf(utf8('<svg>'))).toBeNull();
  });
});

describe('lines', () => {
  it('are all of a text, and its last newline begins none', () => {
    const lines = linesOf('a\r\nb\n\nlast\n');
    expect([0, 1, 2, 3].map((at) => lineAt(lines, at))).toEqual(['a', 'b', '', 'last']);
    expect(lines.starts.length).toBe(4);
    expect(linesOf('').starts.length).toBe(1);
    expect(lineAt(linesOf('x'), 0)).toBe('x');
  });

  it('end a part at a whole line, or at a whole character', () => {
    expect(partOf(utf8('ab\ncd'), false)).toBe(3);
    expect(partOf(utf8('ab\ncd'), true)).toBe(5);
    expect(partOf(utf8('a'.repeat(9)), false)).toBe(9);
    const half = utf8(`${'a'.repeat(8)}é`).subarray(0, 9);
    expect(partOf(half, false)).toBe(8);
    const many = new Uint8Array(LINES_MAX + 5).fill(0x0a);
    expect(partOf(many, true)).toBe(LINES_MAX);
  });

  it('are found in either case, once each, to a bound', () => {
    const lines = linesOf('Foo foo\nbar\nFOO');
    expect(found(lines, 'foo', 9)).toEqual([0, 2]);
    expect(found(lines, 'foo', 1)).toEqual([0]);
    expect(found(lines, '', 9)).toEqual([]);
    // The small form of this letter is longer: places are those of the text as it is.
    expect(found(linesOf('\u0130\nFoo'), 'Foo', 9)).toEqual([1]);
  });
});

describe('syntax', () => {
  const coloursOf = (path: string, text: string): (string | null)[][] => {
    const lines = linesOf(text);
    const syntax = new Syntax(path, lines);
    while (syntax.advance(2));
    return text.split('\n').map((line, i) => {
      const pieces = syntax.pieces(i, line);
      expect(pieces.map(([, piece]) => piece).join('')).toBe(line);
      return pieces.map(([colour]) => colour);
    });
  };

  it('carries comments and strings over lines', () => {
    expect(coloursOf('a.ts', 'x /* a\nb\nc */ d')).toEqual([
      [null, 'comment'],
      ['comment'],
      ['comment', null],
    ]);
    expect(coloursOf('a.py', 'x = """a\nif\nb"""\nif')).toEqual([
      [null, 'string'],
      ['string'],
      ['string'],
      ['keyword'],
    ]);
    expect(coloursOf('a.js', 'f(`a\nreturn` + 1)')[1]?.[0]).toBe('string');
    expect(coloursOf('a.html', '<!-- a\nb -->c')).toEqual([['comment'], ['comment', null]]);
    expect(coloursOf('a.py', '"""one line"""\nif')[1]).toEqual(['keyword']);
  });

  it('knows no colours of other files, and none of very long lines', () => {
    expect(coloursOf('a.bin', 'if "x"')).toEqual([[null]]);
    expect(coloursOf('a.ts', `"${'x'.repeat(3000)}"`)).toEqual([[null]]);
  });
});

describe('tables', () => {
  it('have quoted fields with separators, quotes and newlines in them', () => {
    const table = tableOf('a,"b, ""c""\nd",\r\n1,2\n');
    expect(table.rows).toEqual([
      ['a', 'b, "c"\nd', ''],
      ['1', '2'],
    ]);
    expect([table.columns, table.cut]).toEqual([3, false]);
    expect(widthsOf(table, 5)).toEqual([3, 5, 3]);
  });

  it('part their fields by what the first line has most of', () => {
    expect(separatorOf('a;b;c,d')).toBe(';');
    expect(separatorOf('a\tb')).toBe('\t');
    expect(separatorOf('"a;b;c",d')).toBe(',');
    expect(tableOf('"never closed\n1,2').rows).toEqual([['never closed\n1,2']]);
  });

  it('are cut at their bounds', () => {
    const wide = tableOf(
      Array(COLUMNS_MAX + 5)
        .fill('x')
        .join(','),
    );
    expect([wide.columns, wide.cut]).toEqual([COLUMNS_MAX, true]);
  });
});

describe('markdown', () => {
  const kinds = (blocks: readonly Block[]): string[] => blocks.map(({ is }) => is);

  it('has its blocks', () => {
    const text = [
      '# Title #',
      'Under',
      '---',
      '',
      'a paragraph\nof two',
      '',
      '```python',
      '# no title',
      '```',
      '> quoted',
      '- one',
      '  - two',
      '- [x] done',
      '',
      '1. first',
      '',
      '| a | b |',
      '|---|:-:|',
      '| 1 | 2 |',
      '',
      '***',
    ].join('\n');
    const blocks = blocksOf(text);
    expect(kinds(blocks)).toEqual([
      'heading',
      'heading',
      'paragraph',
      'code',
      'quote',
      'list',
      'list',
      'table',
      'rule',
    ]);
    const list = blocks[5];
    expect(list?.is === 'list' && list.items.map(({ done }) => done)).toEqual([null, true]);
    expect(list?.is === 'list' && kinds(list.items[0]?.blocks ?? [])).toEqual([
      'paragraph',
      'list',
    ]);
    const table = blocks[7];
    expect(table?.is === 'table' && table.rows.length).toBe(2);
  });

  it('has its inline parts, and HTML is text', () => {
    expect(inlineOf('a **b _c_** `d` ~~e~~').map(({ is }) => is)).toEqual([
      'text',
      'strong',
      'text',
      'code',
      'text',
      'gone',
    ]);
    const html = '<img src=x onerror=alert(1)><script>x</script>';
    expect(inlineOf(html)).toEqual([{ is: 'text', text: html }]);
    expect(inlineOf('[a](javascript:alert(1)) ![b](data:text/html,x) <https://e.org>.')).toEqual([
      { is: 'text', text: '[a](javascript:alert(1)) ' },
      { is: 'image', to: 'data:text/html,x', text: 'b' },
      { is: 'text', text: ' ' },
      { is: 'link', to: 'https://e.org', parts: [{ is: 'text', text: 'https://e.org' }] },
      { is: 'text', text: '.' },
    ]);
    expect(inlineOf('snake_case_name 2*3*4')).toEqual([
      { is: 'text', text: 'snake_case_name 2' },
      { is: 'em', parts: [{ is: 'text', text: '3' }] },
      { is: 'text', text: '4' },
    ]);
  });

  it('leads to files of the workspace and nowhere else', () => {
    expect(pathOf('../b.md#x', 'docs/use')).toBe('docs/b.md');
    expect(pathOf('/a%20b', 'docs')).toBe('a b');
    expect(pathOf('../../etc/passwd', 'docs')).toBeNull();
    for (const to of ['javascript:x', 'JAVASCRIPT:x', '//evil', '#a', 'data:x', 'blob:x']) {
      expect(pathOf(to, '')).toBeNull();
    }
  });

  it('ends soon, whatever it is given', () => {
    const hostile = [
      '**a '.repeat(2400),
      '['.repeat(9000),
      '`'.repeat(9000),
      `# ${' '.repeat(90_000)}x`,
      `|${' '.repeat(90_000)}x\n${'-|'.repeat(40_000)}x`,
      '> '.repeat(50_000),
      '- '.repeat(50_000),
      `${'- a\n  '.repeat(9000)}x`,
      '*'.repeat(90_000),
      '_a '.repeat(3000),
    ];
    const began = process.cpuUsage();
    for (const text of hostile) blocksOf(text);
    // Microseconds of work, however busy the machine is.
    expect(process.cpuUsage(began).user).toBeLessThan(3_000_000);
  });
});
