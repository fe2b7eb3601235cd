/** The panes of agents that were begun from a canvas; of a todo's, what hangs on it. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { go } from '../../state/route';
import { addItem, changeItems } from '../document/acts';
import { freePlace, type Point } from '../document/geometry';
import { MAX_TITLE, sizeOf, type Box, type Item } from '../document/items';
import type { Stage } from './stage';

/** The ways from a todo to the work of its agent. */
export type Way = 'agent' | 'diff' | 'answer' | 'home';

const GAP = 24;

/** Gives a todo the work that was begun for it, and shows its agents there; one step of undo. */
export function hangWork(stage: Stage, todo: Item, made: readonly Sandbox[]): void {
  const { board } = stage;
  const [first] = made;
  if (first === undefined) return;
  const task = { sandbox_id: first.sandbox_id, branch: first.repos[0]?.branch ?? '' };
  let panes: readonly string[] = [];
  board.act(() => {
    changeItems(board, [todo.id], { task, h: Math.max(todo.h, sizeOf('todo').h) });
    panes = addAgents(stage, made, { x: todo.x + todo.w + GAP, y: todo.y });
  });
  show(stage, [todo.id, ...panes]);
}

/** Shows agents that begin in sandboxes of their own, in the middle of the window; one step of
 *  undo. */
export function showAgents(stage: Stage, made: readonly Sandbox[]): void {
  let panes: readonly string[] = [];
  stage.board.act(() => {
    panes = addAgents(stage, made, stage.place(sizeOf('agent')));
  });
  stage.choose(panes, false);
  show(stage, panes);
}

/** Has an item show an agent that begins in a sandbox, in place of one that has ended. */
export function replaceAgent(stage: Stage, gone: Item, made: Sandbox): void {
  const ended = { terminal_id: null, follows: null };
  changeItems(stage.board, [gone.id], { ...ended, ...fieldsOf(made) });
}

/** Adds a pane for each agent, at a point or the next free place. Returns their ids. */
function addAgents(stage: Stage, made: readonly Sandbox[], at: Point): readonly string[] {
  const taken: Box[] = stage.items.filter(({ kind }) => kind !== 'frame');
  return made.map((one) => {
    // A sandbox without an agent shows its files.
    const kind = one.agent === null ? 'files' : 'agent';
    const size = sizeOf(kind);
    const box = { ...freePlace({ ...at, ...size }, taken), ...size };
    taken.push(box);
    const named = one.agent === null ? {} : { title: one.agent };
    const fields = { ...fieldsOf(one), ...named };
    return addItem(stage.board, { kind, box, fields }, stage.author);
  });
}

/** What an item of a sandbox's agent says of it. */
function fieldsOf({ sandbox_id: sandboxId, agent }: Sandbox): Readonly<Record<string, string>> {
  return { sandbox_id: sandboxId, ...(agent === null ? {} : { agent }) };
}

/** Shows the agent or the changes of a todo's work on the dashboard: the pane that is there, or a
 *  new one. Whoever may not add one goes to the sandbox. */
export function showWork(stage: Stage, todo: Item, kind: 'agent' | 'diff'): void {
  const sandbox = todo.task?.sandboxId;
  if (sandbox === undefined) return;
  const there = stage.items.find((one) => one.kind === kind && one.sandboxId === sandbox);
  if (there === undefined && !stage.works) {
    go(sandbox, kind === 'diff' ? 'changes' : null);
    return;
  }
  const id = there?.id ?? addPane(stage, todo, kind, sandbox, { title: titleOf(todo, kind) });
  const pane = stage.board.item(id);
  if (pane !== null) stage.open(pane);
}

/** The agent names itself; changes have the name of their branch. */
function titleOf({ task }: Item, kind: 'agent' | 'diff'): string {
  if (kind === 'agent' || task === null || task.branch === '') return '';
  return t`Changes of ${task.branch}`.slice(0, MAX_TITLE);
}

function addPane(
  stage: Stage,
  todo: Item,
  kind: 'agent' | 'diff',
  sandbox: string,
  named: Readonly<Record<string, string>>,
): string {
  const size = sizeOf(kind);
  const box = { ...placeBeside(stage, todo, size), ...size };
  const said = Object.fromEntries(Object.entries(named).filter(([, words]) => words !== ''));
  const fields = { sandbox_id: sandbox, ...said };
  return addItem(stage.board, { kind, box, fields }, stage.author);
}

/** A free place to the right of the todo and of what hangs on it already. */
function placeBeside(stage: Stage, todo: Item, size: { w: number; h: number }): Point {
  const hanging = stage.items.filter(
    ({ kind, sandboxId }) =>
      (kind === 'agent' || kind === 'diff') && sandboxId === todo.task?.sandboxId,
  );
  const right = Math.max(todo.x + todo.w, ...hanging.map(({ x, w }) => x + w));
  const others = stage.items.filter(({ kind }) => kind !== 'frame');
  return freePlace({ x: right + GAP, y: todo.y, ...size }, others);
}

/** Shows all of these, as large as the window allows. */
function show(stage: Stage, ids: readonly string[]): void {
  stage.fit(ids.flatMap((id) => stage.board.item(id) ?? []));
}
