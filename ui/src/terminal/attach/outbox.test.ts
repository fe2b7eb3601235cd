import { expect, it } from 'vitest';

import { Outbox } from './outbox';

const KIB = 1024;

function outbox(window: number) {
  const frames: Uint8Array[] = [];
  const stuck: number[] = [];
  let due: (() => void) | null = null;
  const box = new Outbox({
    send: (frame) => frames.push(frame),
    onStuck: (bytes) => stuck.push(bytes),
    timers: {
      set: (run) => {
        due = run;
        return 1;
      },
      clear: () => (due = null),
      now: () => 0,
    },
  });
  box.begin(window);
  const sent = (): number => frames.reduce((sum, { length }) => sum + length, 0);
  return { box, frames, sent, stuck, tenSeconds: () => due?.() };
}

it('cuts a long paste into frames and sends no more than the window', () => {
  const { box, frames, sent } = outbox(64 * KIB);
  box.push(new Uint8Array(2048 * KIB));
  expect(Math.max(...frames.map(({ length }) => length))).toBe(16 * KIB);
  expect(sent()).toBe(64 * KIB);
  box.taken(32 * KIB);
  expect(sent()).toBe(96 * KIB);
  for (let taken = 32; taken <= 2048; taken += 32) box.taken(taken * KIB);
  expect(sent()).toBe(2048 * KIB);
  expect(box.end()).toBe(0);
});

it('keeps the order of what is typed behind a paste', () => {
  const { box, frames } = outbox(16 * KIB);
  box.push(new Uint8Array(20 * KIB).fill(1));
  box.push(Uint8Array.of(2));
  box.taken(20 * KIB);
  expect(frames.map(({ length }) => length)).toEqual([16 * KIB, 4 * KIB, 1]);
  expect(frames.at(-1)).toEqual(Uint8Array.of(2));
});

it('tells how much was dropped, and how much nobody can vouch for', () => {
  const { box } = outbox(64 * KIB);
  box.push(new Uint8Array(100 * KIB));
  expect(box.drop()).toBe(36 * KIB);
  expect(box.drop()).toBe(0);
  expect(box.end()).toBe(64 * KIB);
});

it('has nothing to tell of a key that was on its way', () => {
  const { box } = outbox(64 * KIB);
  box.push(Uint8Array.of(3));
  expect(box.end()).toBe(0);
});

it('sends everything at once to a server that gives no window', () => {
  const { box, sent } = outbox(0);
  box.push(new Uint8Array(1024 * KIB));
  expect(sent()).toBe(1024 * KIB);
});

it('counts anew on each connection', () => {
  const { box, sent } = outbox(16 * KIB);
  box.push(new Uint8Array(16 * KIB));
  box.end();
  box.begin(16 * KIB);
  box.push(new Uint8Array(16 * KIB));
  expect(sent()).toBe(32 * KIB);
});

it('gives up behind a program that takes nothing, until it takes something again', () => {
  const { box, sent, stuck, tenSeconds } = outbox(16 * KIB);
  box.push(new Uint8Array(40 * KIB));
  tenSeconds();
  expect(stuck).toEqual([24 * KIB]);
  box.push(Uint8Array.of(3));
  expect(stuck).toEqual([24 * KIB, 1]);
  box.taken(16 * KIB);
  box.push(Uint8Array.of(4));
  expect(sent()).toBe(16 * KIB + 1);
  expect(stuck).toHaveLength(2);
});
