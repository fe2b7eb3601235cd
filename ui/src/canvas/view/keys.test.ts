import { describe, expect, it } from 'vitest';

import { addItem } from '../document/acts';
import { Board } from '../document/board';
import { resized } from './gestures';
import { arrow, commandFor, COMMANDS, keyOf, tab } from './commands';
import { Gestures } from './gestures';
import { Stage } from './stage';

function key(name: string, more: Partial<KeyboardEvent> = {}): KeyboardEvent {
  const none = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
  return { key: name, ...none, ...more } as KeyboardEvent;
}

function stageOf(...places: readonly (readonly [number, number])[]): Stage {
  const stage = new Stage(new Board(), 'p_1', true);
  for (const [x, y] of places)
    addItem(stage.board, { kind: 'note', box: { x, y, w: 100, h: 100 } }, stage.author);
  stage.size.set({ w: 2000, h: 2000 });
  return stage;
}

const placesOf = (stage: Stage): readonly (readonly [number, number])[] =>
  stage.items.map(({ x, y }) => [x, y] as const).toSorted(([a], [b]) => a - b);

describe('keys', () => {
  it('are spelled one way', () => {
    expect(keyOf(key('n'))).toBe('N');
    expect(keyOf(key('N', { shiftKey: true }))).toBe('Shift N');
    expect(keyOf(key('?', { shiftKey: true }))).toBe('?');
    expect(keyOf(key('z', { metaKey: true }))).toBe('Ctrl Z');
    expect(keyOf(key('G', { ctrlKey: true, shiftKey: true }))).toBe('Ctrl Shift G');
    expect(keyOf(key('Delete'))).toBe('Delete');
  });

  it('mean one thing each', () => {
    const keys = COMMANDS().flatMap(({ keys: all }) => all ?? []);
    expect(new Set(keys).size).toBe(keys.length);
    expect(commandFor('Ctrl Shift Z')?.id).toBe('redo');
    expect(commandFor('Q')).toBeNull();
  });

  it('move and size what is chosen, and look around else', () => {
    const stage = stageOf([0, 0]);
    expect(arrow(key('ArrowRight'), stage)).toBe(true);
    expect(stage.view.get().x).toBe(80);
    stage.choose(stage.items.map(({ id }) => id));
    arrow(key('ArrowRight'), stage);
    arrow(key('ArrowDown', { shiftKey: true }), stage);
    arrow(key('ArrowDown', { altKey: true }), stage);
    expect(stage.items[0]).toMatchObject({ x: 8, y: 64, w: 100, h: 108 });
    expect(arrow(key('x'), stage)).toBe(false);
  });

  it('go from item to item as a person reads', () => {
    const stage = stageOf([0, 0], [200, 0], [0, 200]);
    const seen = [1, 2, 3].map(() => {
      tab(stage, 1);
      const [one] = stage.picked;
      return [one?.x, one?.y];
    });
    expect(seen).toEqual([
      [0, 0],
      [200, 0],
      [0, 200],
    ]);
    expect(tab(stage, 1)).toBe(false);
  });
});

const PRESS = { button: 0, shift: false, alt: false, space: false };

describe('the pointer', () => {
  it('moves an item once it is let go, and by undo back', () => {
    const stage = stageOf([0, 0]);
    const gestures = new Gestures(stage);
    gestures.press({ ...PRESS, at: { x: 10, y: 10 } }, stage.items[0] ?? null);
    gestures.move({ x: 90, y: 50 }, true);
    expect(stage.drag.get()).toMatchObject({ dx: 80, dy: 40 });
    expect(placesOf(stage)).toEqual([[0, 0]]);
    gestures.release();
    expect(placesOf(stage)).toEqual([[80, 40]]);
    stage.board.undo();
    expect(placesOf(stage)).toEqual([[0, 0]]);
  });

  it('moves nothing by a click, and nothing that is given up', () => {
    const stage = stageOf([0, 0]);
    const gestures = new Gestures(stage);
    gestures.press({ ...PRESS, at: { x: 10, y: 10 } }, stage.items[0] ?? null);
    gestures.move({ x: 11, y: 11 }, true);
    gestures.release();
    expect(placesOf(stage)).toEqual([[0, 0]]);
    gestures.press({ ...PRESS, at: { x: 10, y: 10 } }, stage.items[0] ?? null);
    gestures.move({ x: 99, y: 99 }, true);
    expect(gestures.cancel()).toBe(true);
    gestures.release();
    expect(placesOf(stage)).toEqual([[0, 0]]);
  });

  it('draws a box that chooses', () => {
    const stage = stageOf([0, 0], [500, 0]);
    const gestures = new Gestures(stage);
    gestures.press({ ...PRESS, at: { x: -50, y: -50 } }, null);
    gestures.move({ x: 50, y: 50 }, false);
    gestures.release();
    expect(stage.picked.map(({ x }) => x)).toEqual([0]);
    expect(stage.marquee.get()).toBeNull();
  });

  it('copies with Alt', () => {
    const stage = stageOf([0, 0]);
    const gestures = new Gestures(stage);
    gestures.press({ ...PRESS, alt: true, at: { x: 10, y: 10 } }, stage.items[0] ?? null);
    gestures.move({ x: 210, y: 10 }, true);
    gestures.release();
    expect(placesOf(stage)).toEqual([
      [0, 0],
      [200, 0],
    ]);
  });

  it('changes nothing for a viewer', () => {
    const stage = stageOf([0, 0]);
    stage.edits = false;
    const gestures = new Gestures(stage);
    gestures.press({ ...PRESS, at: { x: 10, y: 10 } }, stage.items[0] ?? null);
    gestures.move({ x: 99, y: 99 }, true);
    gestures.release();
    expect(placesOf(stage)).toEqual([[0, 0]]);
    expect(stage.picked).toHaveLength(1);
  });

  it('makes no item smaller than it can be read', () => {
    const box = { x: 0, y: 0, w: 100, h: 100 };
    expect(resized(box, { x: 'start', y: null }, { x: 999, y: 0 })).toMatchObject({ x: 52, w: 48 });
    expect(resized(box, { x: 'end', y: 'end' }, { x: 20, y: -999 })).toMatchObject({
      w: 120,
      h: 32,
    });
  });
});
