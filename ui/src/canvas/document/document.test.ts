import * as Y from 'yjs';
import { describe, expect, it } from 'vitest';

import { addItem, changeItems, frameItems, groupItems, moveItems, removeItems } from './acts';
import { placeItems, stack, tidyItems } from './acts';
import { Board } from './board';
import { carried, following, within, withGroups } from './choice';
import { clipOf, duplicateItems, fromText, pasteItems, readClip } from './clip';
import { overlap } from './geometry';
import { nameOf, readItem } from './items';
import { wordsOf } from './rich';

const ME = { id: 'p_1', at: '2026-01-01T00:00:00Z' };

function note(board: Board, x: number, y: number, text = ''): string {
  return addItem(board, { kind: 'note', box: { x, y }, text: [{ text }] }, ME);
}

function at(board: Board, id: string): readonly [number, number] {
  const item = board.item(id);
  if (item === null) throw new Error(`no ${id}`);
  return [item.x, item.y];
}

/** Brings two documents to the same state. */
function meet(a: Board, b: Board): void {
  Y.applyUpdate(b.doc, Y.encodeStateAsUpdate(a.doc), 'there');
  Y.applyUpdate(a.doc, Y.encodeStateAsUpdate(b.doc), 'there');
}

describe('items', () => {
  it('are read with what they were made of', () => {
    const board = new Board();
    const id = note(board, 10, 20, 'Buy milk\nand bread');
    const item = board.item(id);
    expect(item).toMatchObject({ kind: 'note', x: 10, y: 20, w: 208, by: 'p_1', locked: false });
    expect(item && nameOf(item)).toBe('Buy milk');
    expect(id).toMatch(/^itm_[a-z0-9]{16}$/);
  });

  it('of hostile fields are read as absent ones', () => {
    const fields = new Y.Map<unknown>(
      Object.entries({
        kind: 'link',
        x: NaN,
        y: 1e99,
        w: '3',
        url: 'javascript:alert(1)',
        title: 7,
        task: { sandbox_id: 3 },
        due: 'tomorrow',
        port: 1.5,
      }),
    );
    new Y.Doc().getMap('items').set('a', fields);
    expect(readItem('a', fields, 1)).toMatchObject({
      x: 0,
      y: 1_000_000,
      w: 48,
      url: null,
      title: '',
      task: null,
      due: null,
      port: null,
    });
    expect(readItem('a', 'text', 1)).toBeNull();
  });

  it('of one place are the same value until they change', () => {
    const board = new Board();
    const [a, b] = [note(board, 0, 0), note(board, 300, 0)];
    const before = board.item(a);
    changeItems(board, [b], { colour: 'blue' });
    expect(board.item(a)).toBe(before);
    board.item(a)?.text?.insert(0, 'x');
    expect(board.item(a)).not.toBe(before);
  });
});

describe('acts', () => {
  it('are undone and redone one by one, others’ never', () => {
    const [mine, theirs] = [new Board(), new Board()];
    const a = note(mine, 0, 0);
    meet(mine, theirs);
    moveItems(mine, [a], 100, 0);
    const b = note(theirs, 500, 0);
    meet(mine, theirs);
    mine.undo();
    expect(at(mine, a)).toEqual([0, 0]);
    mine.undo();
    expect(mine.list.get().map(({ id }) => id)).toEqual([b]);
    expect(mine.undo()).toBe(false);
    mine.redo();
    mine.redo();
    expect(at(mine, a)).toEqual([100, 0]);
  });

  it('on removed items bring them back with their text', () => {
    const board = new Board();
    const id = note(board, 0, 0, 'words');
    expect(removeItems(board, [id])).toBe(1);
    expect(board.list.get()).toEqual([]);
    board.undo();
    expect(wordsOf(board.item(id)?.text ?? null)).toBe('words');
  });

  it('leave what is locked alone', () => {
    const board = new Board();
    const id = note(board, 0, 0);
    changeItems(board, [id], { locked: true });
    moveItems(board, [id], 50, 50);
    expect(removeItems(board, [id])).toBe(0);
    expect(at(board, id)).toEqual([0, 0]);
  });

  it('order items, and keep frames behind them', () => {
    const board = new Board();
    const [a, b] = [note(board, 0, 0), note(board, 10, 10)];
    const frame = frameItems(board, [a, b], ME);
    stack(board, [a], 'front');
    const order = [...board.list.get()].sort((x, y) => x.z - y.z).map(({ id }) => id);
    expect(order).toEqual([frame, b, a]);
    stack(board, [a], 'back');
    expect(board.item(a)?.z).toBeLessThan(board.item(frame ?? '')?.z ?? 0);
  });
});

describe('frames and groups', () => {
  it('carry what lies in them, and let go what is moved out', () => {
    const board = new Board();
    const [inside, outside] = [note(board, 100, 100), note(board, 2000, 0)];
    const frame = addItem(board, { kind: 'frame', box: { x: 0, y: 0, w: 600, h: 600 } }, ME);
    placeItems(board, new Map([[inside, { x: 120, y: 120, w: 100, h: 100 }]]));
    expect(board.item(inside)?.frame).toBe(frame);
    moveItems(board, [frame], 1000, 0);
    expect(at(board, inside)).toEqual([1120, 120]);
    expect(at(board, outside)).toEqual([2000, 0]);
    moveItems(board, [inside], -1000, 0);
    expect(board.item(inside)?.frame).toBeNull();
  });

  it('that carry each other end', () => {
    const board = new Board();
    const [a, b] = [note(board, 0, 0), note(board, 9, 9)];
    changeItems(board, [a], { frame: b });
    changeItems(board, [b], { frame: a });
    expect(carried(board.list.get(), [a])).toHaveLength(2);
  });

  it('of a removed frame stay', () => {
    const board = new Board();
    const a = note(board, 100, 100);
    const frame = frameItems(board, [a], ME);
    expect(board.item(a)?.frame).toBe(frame);
    removeItems(board, [frame ?? '']);
    expect(board.item(a)?.frame).toBeNull();
  });

  it('are chosen as one', () => {
    const board = new Board();
    const [a, b, c] = [note(board, 0, 0), note(board, 900, 0), note(board, 0, 900)];
    groupItems(board, [a, b], true);
    expect(withGroups(board.list.get(), [a]).toSorted()).toEqual([a, b].toSorted());
    expect(within(board.list.get(), { x: -10, y: -10, w: 50, h: 50 })).toHaveLength(2);
    groupItems(board, [a, b], false);
    expect(withGroups(board.list.get(), [c])).toEqual([c]);
  });
});

describe('order', () => {
  it('is from the top and from the left', () => {
    const board = new Board();
    const [c, a, b] = [note(board, 0, 400), note(board, 0, 0), note(board, 300, 30)];
    const list = board.list.get();
    expect(following(list, null, 1)?.id).toBe(a);
    expect(following(list, a, 1)?.id).toBe(b);
    expect(following(list, b, 1)?.id).toBe(c);
    expect(following(list, c, 1)).toBeNull();
    expect(following(list, null, -1)?.id).toBe(c);
  });

  it('made tidy covers nothing', () => {
    const board = new Board();
    const ids = Array.from({ length: 12 }, (_, n) => note(board, n * 7, n * 5));
    tidyItems(board, ids);
    const list = board.list.get();
    const pairs = list.flatMap((a) => list.filter((b) => a !== b).map((b) => overlap(a, b)));
    expect(pairs).not.toContain(true);
  });
});

describe('copies', () => {
  it('have ids, groups and texts of their own', () => {
    const board = new Board();
    const a = note(board, 0, 0, 'one');
    const todo = { kind: 'todo', fields: { done: true, task: { sandbox_id: 'x', branch: 'b' } } };
    const b = addItem(board, todo, ME);
    groupItems(board, [a, b], true);
    const items = board.list.get();
    const made = duplicateItems(board, items, ME).map((id) => board.item(id));
    expect(made).toHaveLength(2);
    expect(made[0]?.group).toBe(made[1]?.group);
    expect(made[0]?.group).not.toBe(items[0]?.group);
    expect(wordsOf(made.find((one) => one?.kind === 'note')?.text ?? null)).toBe('one');
    // The work of an agent hangs on one todo.
    expect(made.find((one) => one?.kind === 'todo')).toMatchObject({ done: true, task: null });
    board.undo();
    expect(board.list.get()).toHaveLength(2);
  });

  it('come back from the clipboard, where anything may be', () => {
    const board = new Board();
    note(board, 0, 0, 'one');
    const clip = readClip(clipOf(board.list.get()));
    expect(pasteItems(board, clip ?? [], { x: 1000, y: 1000 }, ME)).toHaveLength(1);
    expect(board.list.get()).toHaveLength(2);
    const hostile = {
      'atoll/items/1': [
        3,
        { made: { kind: 'bomb', box: { x: 0, y: 0, w: 1, h: 1 } } },
        { made: { kind: 'link', box: { x: 0, y: 0, w: 1, h: null } } },
        {
          made: {
            kind: 'link',
            box: { x: 0, y: 0, w: 9, h: 9 },
            fields: { url: 'javascript:1', z: 9 },
          },
        },
      ],
    };
    expect(readClip(JSON.stringify(hostile))?.map(({ made }) => made.fields)).toEqual([{}]);
    expect(readClip('plain')).toBeNull();
  });

  it('of plain text are notes, of an address links', () => {
    expect(fromText(' example.com/x ')).toMatchObject({
      kind: 'link',
      fields: { url: 'https://example.com/x' },
    });
    expect(fromText('javascript:alert(1)')?.kind).toBe('note');
    expect(fromText('  ')).toBeNull();
  });
});
