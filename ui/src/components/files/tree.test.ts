import { describe, expect, it } from 'vitest';
import {
  EMPTY,
  keyOf,
  placeIn,
  ROOT,
  rowsOf,
  toggled,
  touched,
  upserted,
  withFolder,
  type Entry,
  type Folder,
  type Tree,
} from './tree';

const entry = (path: string, type: Entry['type'] = 'file', more: Partial<Entry> = {}): Entry => ({
  name: path.split('/').at(-1) ?? '',
  path,
  type,
  size: 1,
  mode: '0644',
  mtime: '2026-01-01T00:00:00Z',
  ...more,
});
const folder = (entries: readonly Entry[], more: Partial<Folder> = {}): Folder => ({
  entries,
  next: null,
  loading: false,
  problem: null,
  ...more,
});
const at = (path: string) => ({ path, exact: null });
const shown = (tree: Tree): string[] =>
  rowsOf(tree).map((row) => {
    const words = row.kind === 'entry' ? row.place.path : row.kind === 'note' ? row.words : '…';
    return `${' '.repeat(row.depth)}${words}`;
  });

describe('tree', () => {
  it('shows open folders with what was read of them, folders first', () => {
    let tree = withFolder(EMPTY, ROOT, folder([entry('a'), entry('src', 'dir')]));
    expect(shown(tree)).toEqual(['src', 'a']);
    tree = toggled(tree, 'src', true);
    expect(shown(tree)).toEqual(['src', ' Loading…', 'a']);
    tree = withFolder(tree, at('src'), folder([]));
    expect(shown(tree)).toEqual(['src', ' Empty', 'a']);
    expect(shown(toggled(tree, 'src', false))).toEqual(['src', 'a']);
  });

  it('keeps the order of a part and says that there is more', () => {
    const tree = withFolder(
      EMPTY,
      ROOT,
      folder([entry('a'), entry('b', 'dir')], { next: 'cursor' }),
    );
    expect(shown(tree)).toEqual(['a', 'b', '…']);
  });

  it('shows why a folder cannot be read', () => {
    expect(shown(withFolder(EMPTY, ROOT, folder([], { problem: 'no' })))).toEqual(['no']);
  });

  it('opens no folder in itself for ever', () => {
    let tree = withFolder(EMPTY, ROOT, folder([entry('d', 'dir')]));
    for (let path = 'd'; path.length < 400; path += '/d') {
      tree = withFolder(toggled(tree, path, true), at(path), folder([entry(`${path}/d`, 'dir')]));
    }
    expect(rowsOf(tree).length).toBeLessThan(70);
  });

  it('gives a name that is not UTF-8 a place of its own, and what lies below it', () => {
    const odd = entry('d/\ufffd', 'dir', { name: '\ufffd', name_b64: btoa('\xff') });
    const place = placeIn(at('d'), odd);
    expect(atob(place.exact ?? '')).toBe('d/\xff');
    const inner = placeIn(place, entry('d/\ufffd/é', 'file', { name: 'é' }));
    expect(atob(inner.exact ?? '')).toBe('d/\xff/\xc3\xa9');
    expect(keyOf(place)).not.toBe(keyOf(at('d/\ufffd')));
  });

  it('puts an entry where it belongs and takes out one that is gone', () => {
    const list = [entry('a'), entry('c')];
    expect(upserted(list, 'b', entry('b')).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(upserted(list, 'c', entry('c', 'file', { size: 9 }))[1]?.size).toBe(9);
    expect(upserted(list, 'a', null).map(({ name }) => name)).toEqual(['c']);
    expect(upserted(list, 'x', null)).toBe(list);
  });

  it('tells which of the folders that were read hold what changed', () => {
    const tree = withFolder(withFolder(EMPTY, ROOT, folder([])), at('src'), folder([]));
    const found = touched(tree, ['a', 'src/b', 'src/c', 'other/d']);
    expect([...found].map(([key, paths]) => [key, paths.size])).toEqual([
      ['', 1],
      ['src', 2],
    ]);
  });

  it('has a row for each entry of a large folder', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => entry(`${i}`));
    expect(rowsOf(withFolder(EMPTY, ROOT, folder(many, { next: 'x' }))).length).toBe(20_001);
  });
});
