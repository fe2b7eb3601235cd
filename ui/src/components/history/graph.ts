/** A history as lanes: each commit has one, and lines lead from it to its parents. Pure. */

export interface GraphCommit {
  readonly commit: string;
  readonly parents: readonly string[];
}

/** A line from the middle of a row (or its top) to its bottom (or its middle). */
export interface Line {
  readonly from: number;
  readonly to: number;
  /** Which of the colours it has. */
  readonly colour: number;
  readonly half: 'top' | 'bottom';
}

export interface GraphRow {
  readonly lane: number;
  readonly colour: number;
  readonly lines: readonly Line[];
  /** How many lanes there are in this row. */
  readonly width: number;
}

/** A lane that leads down to a commit that is not shown yet. */
interface Lane {
  readonly to: string;
  readonly colour: number;
}

export const COLOURS = 6;
/** Branches beyond so many at once have no lane: their commits stand in the last one. */
export const LANES_MAX = 24;

/** The rows of commits, children before their parents. A parent that came before its child, which
 *  clocks that went wrong may cause, gets no line. */
export function graphOf(commits: readonly GraphCommit[]): readonly GraphRow[] {
  const shown = new Set<string>();
  let lanes: readonly (Lane | null)[] = [];
  let next = 0;
  const fresh = (): number => next++ % COLOURS;
  return commits.map((commit) => {
    const row = placed(lanes, commit, shown, fresh);
    lanes = row.after;
    shown.add(commit.commit);
    return row.row;
  });
}

interface Placed {
  readonly row: GraphRow;
  readonly after: readonly (Lane | null)[];
}

function placed(
  before: readonly (Lane | null)[],
  { commit, parents }: GraphCommit,
  shown: ReadonlySet<string>,
  fresh: () => number,
): Placed {
  const waiting = before.findIndex((lane) => lane?.to === commit);
  const lane = waiting >= 0 ? waiting : Math.min(freeIn(before), LANES_MAX - 1);
  const colour = before[waiting]?.colour ?? fresh();
  const lines: Line[] = [];
  const after: (Lane | null)[] = before.map((one, at) => {
    if (one === null) return null;
    const ends = one.to === commit;
    lines.push({ from: at, to: ends ? lane : at, colour: one.colour, half: 'top' });
    return ends ? null : one;
  });
  // Lanes that go on, before those of the parents are laid.
  after.forEach((one, at) => {
    if (one !== null) lines.push({ from: at, to: at, colour: one.colour, half: 'bottom' });
  });
  parents.forEach((parent, i) => {
    const known = after.findIndex((one) => one?.to === parent);
    const at = known >= 0 ? known : laneFor(after, lane, i);
    if (shown.has(parent) || at >= LANES_MAX) return;
    const painted = after[known]?.colour ?? (i === 0 ? colour : fresh());
    after[at] = { to: parent, colour: painted };
    lines.push({ from: lane, to: at, colour: painted, half: 'bottom' });
  });
  while (after.length > 0 && after.at(-1) === null) after.pop();
  const width = Math.max(lane + 1, before.length, after.length);
  return { row: { lane, colour, lines, width }, after };
}

/** The first parent goes on in the commit's own lane. */
function laneFor(lanes: readonly (Lane | null)[], own: number, nth: number): number {
  return nth === 0 && lanes[own] == null ? own : freeIn(lanes);
}

function freeIn(lanes: readonly (Lane | null)[]): number {
  const free = lanes.indexOf(null);
  return free < 0 ? lanes.length : free;
}
