import { describe, expect, it } from 'vitest';
import { graphOf, LANES_MAX, type GraphRow } from './graph';

const of = (...commits: readonly string[]): readonly GraphRow[] =>
  graphOf(
    commits.map((one) => {
      const [commit = '', parents = ''] = one.split(':');
      return { commit, parents: Array.from(parents) };
    }),
  );

const down = ({ lines }: GraphRow): string[] =>
  lines.filter(({ half }) => half === 'bottom').map(({ from, to }) => `${from}${to}`);
const up = ({ lines }: GraphRow): string[] =>
  lines.filter(({ half }) => half === 'top').map(({ from, to }) => `${from}${to}`);

describe('graph', () => {
  it('draws a line of commits in one lane, whose first has no line down', () => {
    const rows = of('c:b', 'b:a', 'a:');
    expect(rows.map(({ lane, width }) => [lane, width])).toEqual([
      [0, 1],
      [0, 1],
      [0, 1],
    ]);
    expect(rows.map(down)).toEqual([['00'], ['00'], []]);
    expect(rows.map(up)).toEqual([[], ['00'], ['00']]);
    expect(new Set(rows.map(({ colour }) => colour)).size).toBe(1);
  });

  it('opens a lane at a merge and closes it where the branches began', () => {
    const [merge, left, right, base] = of('m:lr', 'l:b', 'r:b', 'b:');
    expect(merge && down(merge)).toEqual(['00', '01']);
    expect([left?.lane, right?.lane, base?.lane]).toEqual([0, 1, 0]);
    expect(right && down(right)).toEqual(['00', '10']);
    expect(base && up(base)).toEqual(['00']);
    expect(left?.colour).not.toBe(right?.colour);
  });

  it('gives a second tip a lane of its own and reuses it once it is free', () => {
    const rows = of('x:a', 'y:a', 'a:', 'z:');
    expect(rows.map(({ lane }) => lane)).toEqual([0, 1, 0, 0]);
    expect(rows.at(-1)?.width).toBe(1);
  });

  it('draws no line to a parent that stands above its child', () => {
    const rows = of('p:', 'c:p');
    expect(rows.map(down)).toEqual([[], []]);
  });

  it('keeps a history of a thousand branches within its lanes', () => {
    const tips = Array.from({ length: 1000 }, (_, i) => ({ commit: `t${i}`, parents: ['base'] }));
    const loose = Array.from({ length: 1000 }, (_, i) => ({ commit: `u${i}`, parents: [`v${i}`] }));
    const rows = graphOf([...tips, ...loose]);
    expect(Math.max(...rows.map(({ width }) => width))).toBeLessThanOrEqual(LANES_MAX);
    const lanes = rows.flatMap(({ lines }) => lines.flatMap(({ from, to }) => [from, to]));
    expect(lanes.every((lane) => lane < LANES_MAX)).toBe(true);
  });
});
