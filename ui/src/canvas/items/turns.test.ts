import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { takeTurn } from './turns';

let frames: (() => void)[] = [];

beforeEach(() => {
  frames = [];
  vi.stubGlobal('requestAnimationFrame', (frame: () => void) => frames.push(frame));
});
afterEach(() => vi.unstubAllGlobals());

function nextFrame(): void {
  for (const frame of frames.splice(0)) frame();
}

it('gives each its own frame, and the first of all to who has the keyboard', () => {
  const drawn: string[] = [];
  takeTurn(() => drawn.push('a'));
  const giveUp = takeTurn(() => drawn.push('b'));
  takeTurn(() => drawn.push('c'), true);
  nextFrame();
  expect(drawn).toEqual(['c']);
  giveUp();
  nextFrame();
  expect(drawn).toEqual(['c', 'a']);
  nextFrame();
  expect(drawn).toEqual(['c', 'a']);
  expect(frames).toEqual([]);
});
