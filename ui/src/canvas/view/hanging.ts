/** What hangs on a todo that an agent works on: its agent's pane and its changes, beside it. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { go } from '../../state/route';
import { addItem, changeItems } from '../document/acts';
import { freePlace, type Point } from '../document/geometry';
import { MAX_TITLE, sizeOf, type Item } from '../document/items';
import type { Stage } from './stage';

/** The ways from a todo to the work of its agent. */
export type Way = 'agent' | 'diff' | 'answer' | 'home';

const GAP = 24;

/** Gives a todo the work that was begun for it, and shows its agent there; one step of undo. */
export function hangWork(stage: Stage, todo: Item, made: Sandbox): void {
  const { board } = stage;
  const branch = made.repos[0]?.branch ?? '';
  const task = { sandbox_id: made.sandbox_id, branch };
  const agent = made.agent ?? '';
  let pane = '';
  board.act(() => {
    changeItems(board, [todo.id], { task, h: Math.max(todo.h, sizeOf('todo').h) });
    pane = addPane(stage, todo, 'agent', made.sandbox_id, { title: agent, agent });
  });
  show(stage, [todo.id, pane]);
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
