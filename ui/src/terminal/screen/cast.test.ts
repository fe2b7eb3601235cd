import { describe, expect, it } from 'vitest';

import { CastClock, chapters, findIn, readCast, type Cast } from './cast';

const V3 = [
  '{"version":3,"term":{"cols":100,"rows":30}}',
  '[0.5,"o","$ "]',
  '# a comment',
  '[0.5,"m","make test"]',
  '[0,"o","hel"]',
  '[1,"o","\\u001b[1mlo\\u001b[0m there"]',
  'broken',
  '[60,"o","late"]',
].join('\n');

function cast(): Cast {
  const read = readCast(V3);
  if (read === null) throw new Error('it was no recording');
  return read;
}

describe('a recording', () => {
  it('has times from its start, whatever its version', () => {
    expect(cast().events.map(({ at }) => at)).toEqual([0.5, 1, 1, 2, 62]);
    const old = readCast('{"version":2,"width":90,"height":20}\n[1,"o","a"]\n[3,"o","b"]');
    expect(old?.events.map(({ at }) => at)).toEqual([1, 3]);
    expect(old?.cols).toBe(90);
    expect(readCast('no')).toBeNull();
    expect(readCast('[1]')).toBeNull();
    expect(readCast('{"version":1}')).toBeNull();
  });

  it('has commands to jump to, and finds words across events and colours', () => {
    expect(chapters(cast())).toEqual([{ at: 1, words: 'make test' }]);
    expect(findIn(cast(), 'HELLO there')).toEqual([2]);
    expect(findIn(cast(), 'nowhere')).toEqual([]);
    expect(findIn(cast(), '')).toEqual([]);
  });
});

describe('a player', () => {
  it('shows what came due and shortens silences', () => {
    const clock = new CastClock(cast());
    expect(clock.pass(0.6).map(({ text }) => text)).toEqual(['$ ']);
    expect(clock.pass(1.5).map(({ code }) => code)).toEqual(['m', 'o', 'o']);
    expect(clock.at).toBe(60);
    expect(clock.ended).toBe(false);
    clock.play(4);
    expect(clock.pass(1).map(({ text }) => text)).toEqual(['late']);
    expect(clock.ended).toBe(true);
  });

  it('seeks by showing everything from the start', () => {
    const clock = new CastClock(cast());
    clock.pass(100);
    expect(clock.seek(1).map(({ text }) => text)).toEqual(['$ ', 'make test', 'hel']);
    expect(clock.seek(-5)).toEqual([]);
  });
});
