/** What can be done on a canvas: one list for its keys, its toolbar, the palette and the help. */

import { plural, t, worded } from '../../language/t';
import { notify } from '../../state/announce';
import type { IconName } from '../../components/parts/icons';
import {
  frameItems,
  groupItems,
  moveItems,
  removeItems,
  stack,
  tickTodos,
  tidyItems,
} from '../document/acts';
import { connectItems } from '../document/connect';
import { following } from '../document/choice';
import { duplicateItems } from '../document/clip';
import { isPane, type Item } from '../document/items';
import { neighbour } from '../document/geometry';
import { GRID } from '../document/snap';
import { chooseFiles } from './files';
import { growItems, toggleLock } from './gestures';
import type { Stage } from './stage';
import { zoomStep } from './viewport';

/** What the page around the canvas does for it. */
export interface Places {
  readonly stage: Stage;
  /** Makes an item of a kind in the middle of the window. */
  readonly make: (kind: string) => void;
  readonly help: () => void;
  readonly share: () => void;
  readonly comment: () => void;
  readonly history: () => void;
  /** Opens the box for a task with the words of a todo; null where this person may not. */
  readonly give: ((todo: Item) => void) | null;
  /** Brings the keyboard to the tools of the terminal that is chosen. */
  readonly tools: () => void;
  /** Copies the address of the item that is chosen. */
  readonly copyAddress: () => void;
}

export interface CanvasCommand {
  readonly id: string;
  readonly words: string;
  /** Its words beside an icon in the toolbar. */
  readonly short?: string;
  /** Keys as a person reads them, the first as `keyOf` spells them. */
  readonly keys?: readonly string[];
  readonly icon: IconName;
  /** Changes the document. */
  readonly edits?: boolean;
  /** Makes panes, or gives tasks to agents: not for guests. */
  readonly members?: boolean;
  /** Needs something chosen. */
  readonly chosen?: boolean;
  readonly run: (places: Places) => void;
}

const MAKING = worded<readonly CanvasCommand[]>(() =>
  [
    { id: 'note', words: t`New note`, short: t`note`, keys: ['N'], icon: 'note', kind: 'note' },
    { id: 'text', words: t`New text`, short: t`text`, keys: ['E'], icon: 'text', kind: 'text' },
    { id: 'todo', words: t`New todo`, short: t`todo`, keys: ['D'], icon: 'todo', kind: 'todo' },
    {
      id: 'terminal',
      words: t`New terminal`,
      short: t`terminal`,
      keys: ['T'],
      icon: 'terminal',
      kind: 'terminal',
    },
    {
      id: 'agent',
      words: t`New agent`,
      short: t`agent`,
      keys: ['A'],
      icon: 'agent',
      kind: 'agent',
    },
    { id: 'link', words: t`New link`, keys: ['L'], icon: 'link', kind: 'link' },
    {
      id: 'frame',
      words: t`New frame`,
      short: t`frame`,
      keys: ['F'],
      icon: 'frame',
      kind: 'frame',
    },
    { id: 'files', words: t`Files of a sandbox`, icon: 'file', kind: 'files' },
    { id: 'diff', words: t`Changes of a sandbox`, icon: 'commit', kind: 'diff' },
    { id: 'preview', words: t`Preview of a port`, icon: 'network', kind: 'preview' },
    { id: 'events', words: t`Recent events`, icon: 'log', kind: 'events' },
    { id: 'approvals', words: t`What needs me`, icon: 'bell', kind: 'approvals' },
  ].map(({ kind, ...command }) => ({
    ...command,
    icon: command.icon as IconName,
    edits: true,
    members: isPane(kind),
    run: ({ stage, make }: Places) => {
      // A frame goes around what is chosen.
      const ids = stage.chosen.get();
      const framed = kind === 'frame' ? frameItems(stage.board, ids, stage.author) : null;
      if (framed === null) make(kind);
      else stage.choose([framed], false);
    },
  })),
);

const UPLOAD = worded<CanvasCommand>(() => ({
  id: 'upload',
  words: t`Your files and images…`,
  keys: ['U'],
  icon: 'upload',
  edits: true,
  members: true,
  run: ({ stage }) => chooseFiles(stage),
}));

const CHOSEN = worded<readonly CanvasCommand[]>(() => [
  {
    id: 'open',
    words: t`Open or edit`,
    keys: ['Enter'],
    icon: 'alone',
    chosen: true,
    run: ({ stage }) => openItem(stage),
  },
  {
    id: 'tools',
    words: t`Tools of a terminal, or what is asked there`,
    keys: ['Shift Enter'],
    icon: 'terminal',
    chosen: true,
    run: ({ tools }) => tools(),
  },
  {
    id: 'give',
    words: t`Do this: hand a todo to an agent`,
    keys: ['G'],
    icon: 'agent',
    chosen: true,
    edits: true,
    members: true,
    run: ({ stage, give }) => {
      const todo = stage.picked.find(({ kind, task, done }) => kind === 'todo' && !task && !done);
      if (todo === undefined) notify(t`Choose a todo that no agent has yet.`);
      else give?.(todo);
    },
  },
  {
    id: 'tick',
    words: t`Tick or untick todos`,
    keys: ['X'],
    icon: 'todo',
    chosen: true,
    edits: true,
    run: ({ stage }) => tickTodos(stage.board, stage.picked),
  },
  {
    id: 'duplicate',
    words: t`Duplicate`,
    keys: ['Ctrl D'],
    icon: 'copy',
    chosen: true,
    edits: true,
    run: ({ stage }) =>
      stage.choose(duplicateItems(stage.board, stage.picked, stage.author), false),
  },
  {
    id: 'remove',
    words: t`Remove`,
    keys: ['Delete', 'Backspace'],
    icon: 'destroy',
    chosen: true,
    edits: true,
    run: ({ stage }) => removeChosen(stage),
  },
  {
    id: 'connect',
    words: t`Connect, or take that back`,
    keys: ['K'],
    icon: 'connect',
    chosen: true,
    edits: true,
    run: ({ stage }) => {
      if (stage.picked.length < 2) notify(t`Choose two items to connect them.`);
      else connectItems(stage.board, stage.picked);
    },
  },
  {
    id: 'group',
    words: t`Group`,
    keys: ['Ctrl G'],
    icon: 'group',
    chosen: true,
    edits: true,
    run: ({ stage }) => groupItems(stage.board, stage.chosen.get(), true),
  },
  {
    id: 'ungroup',
    words: t`Ungroup`,
    keys: ['Ctrl Shift G'],
    icon: 'group',
    chosen: true,
    edits: true,
    run: ({ stage }) => groupItems(stage.board, stage.chosen.get(), false),
  },
  {
    id: 'front',
    words: t`Bring to the front`,
    keys: [']'],
    icon: 'up',
    chosen: true,
    edits: true,
    run: ({ stage }) => stack(stage.board, stage.chosen.get(), 'front'),
  },
  {
    id: 'back',
    words: t`Send to the back`,
    keys: ['['],
    icon: 'down',
    chosen: true,
    edits: true,
    run: ({ stage }) => stack(stage.board, stage.chosen.get(), 'back'),
  },
  {
    id: 'lock',
    words: t`Lock or unlock`,
    keys: ['Ctrl Shift L'],
    icon: 'lock',
    chosen: true,
    edits: true,
    run: ({ stage }) => toggleLock(stage),
  },
  {
    id: 'address',
    words: t`Copy its address`,
    keys: ['Shift L'],
    icon: 'link',
    chosen: true,
    run: ({ copyAddress }) => copyAddress(),
  },
  {
    id: 'comment',
    words: t`Comment`,
    keys: ['C'],
    icon: 'comment',
    chosen: true,
    run: ({ comment }) => comment(),
  },
]);

const PLACING = worded<readonly CanvasCommand[]>(() => [
  {
    id: 'tidy',
    words: t`Tidy into rows`,
    keys: ['Shift T'],
    icon: 'grid',
    edits: true,
    run: ({ stage }) => {
      const chosen = stage.chosen.get();
      tidyItems(stage.board, chosen.length > 1 ? chosen : stage.items.map(({ id }) => id));
      stage.fit();
    },
  },
  {
    id: 'undo',
    words: t`Undo`,
    keys: ['Ctrl Z'],
    icon: 'undo',
    edits: true,
    run: ({ stage }) => void stage.board.undo(),
  },
  {
    id: 'redo',
    words: t`Redo`,
    keys: ['Ctrl Shift Z', 'Ctrl Y'],
    icon: 'redo',
    edits: true,
    run: ({ stage }) => void stage.board.redo(),
  },
  {
    id: 'all',
    words: t`Choose everything`,
    keys: ['Ctrl A'],
    icon: 'frame',
    run: ({ stage }) => stage.choose(stage.items.map(({ id }) => id)),
  },
]);

const LOOKING = worded<readonly CanvasCommand[]>(() => [
  {
    id: 'fit',
    words: t`Show everything`,
    keys: ['1'],
    icon: 'fit',
    run: ({ stage }) => stage.fit(),
  },
  {
    id: 'fit chosen',
    words: t`Show what is chosen`,
    keys: ['2'],
    icon: 'fit',
    chosen: true,
    run: ({ stage }) => stage.fit(stage.picked),
  },
  {
    id: 'zoom real',
    words: t`Zoom to 100 %`,
    keys: ['0'],
    icon: 'search',
    run: ({ stage }) => stage.glideToZoom(1),
  },
  {
    id: 'zoom in',
    words: t`Zoom in`,
    keys: ['+', '='],
    icon: 'plus',
    run: ({ stage }) => stage.glideToZoom(zoomStep(stage.goal, 1)),
  },
  {
    id: 'zoom out',
    words: t`Zoom out`,
    keys: ['-'],
    icon: 'minus',
    run: ({ stage }) => stage.glideToZoom(zoomStep(stage.goal, -1)),
  },
  {
    id: 'share',
    words: t`Share this dashboard`,
    keys: ['Shift S'],
    icon: 'share',
    run: ({ share }) => share(),
  },
  {
    id: 'history',
    words: t`History of this dashboard`,
    icon: 'clock',
    run: ({ history }) => history(),
  },
  {
    id: 'help',
    words: t`Keys of the canvas`,
    keys: ['?'],
    icon: 'question',
    run: ({ help }) => help(),
  },
]);

export const COMMAND_GROUPS = worded<
  readonly {
    readonly title: string;
    readonly commands: readonly CanvasCommand[];
  }[]
>(() => [
  { title: t`Make`, commands: [...MAKING(), UPLOAD()] },
  { title: t`What is chosen`, commands: CHOSEN() },
  { title: t`Everything`, commands: PLACING() },
  { title: t`Look`, commands: LOOKING() },
]);

export const COMMANDS = worded(() => COMMAND_GROUPS().flatMap(({ commands }) => commands));

/** Keys that are no commands of the palette, for the help. */
export const OTHER_KEYS = worded<readonly { readonly keys: string; readonly words: string }[]>(
  () => [
    { keys: 'Tab', words: t`To the next item, in the order of reading` },
    { keys: 'Arrows', words: t`Move what is chosen, with Shift further; else look around` },
    { keys: t`Alt Arrows`, words: t`Size what is chosen` },
    { keys: t`Ctrl Arrows`, words: t`To the item beside this one` },
    { keys: 'Esc', words: t`Out of an item, then choose nothing` },
    { keys: t`Ctrl C, X, V`, words: t`Copy, cut, paste; text becomes a note` },
    { keys: 'Space', words: t`Hold it to pan by the pointer` },
    { keys: t`Ctrl Wheel`, words: t`Zoom at the pointer` },
  ],
);

/** Whether a command can be run now. */
export function can(command: CanvasCommand, stage: Stage): boolean {
  if (command.edits === true && !stage.edits) return false;
  if (command.members === true && stage.guest) return false;
  return command.chosen !== true || stage.chosen.get().length > 0;
}

/** A key as commands spell it. */
export function keyOf(event: KeyboardEvent): string {
  const letter = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  // Shift is part of a sign such as `?`, and of no letter.
  const shift = event.shiftKey && (event.key.length > 1 || letter !== event.key.toLowerCase());
  const command = event.ctrlKey || event.metaKey;
  return [command ? 'Ctrl' : '', event.altKey ? 'Alt' : '', shift ? 'Shift' : '', letter]
    .filter((part) => part !== '')
    .join(' ');
}

export function commandFor(key: string): CanvasCommand | null {
  return COMMANDS().find(({ keys }) => keys?.includes(key) === true) ?? null;
}

type Direction = 'left' | 'right' | 'up' | 'down';
const ARROWS: Readonly<Record<string, readonly [Direction, number, number]>> = {
  ArrowLeft: ['left', -1, 0],
  ArrowRight: ['right', 1, 0],
  ArrowUp: ['up', 0, -1],
  ArrowDown: ['down', 0, 1],
};
const FAR_STEP = 8;
const LOOK_PX = 80;

/** What an arrow key does. Returns whether it does anything. */
export function arrow(event: KeyboardEvent, stage: Stage): boolean {
  const found = ARROWS[event.key];
  if (found === undefined) return false;
  const [direction, dx, dy] = found;
  const step = event.shiftKey ? GRID * FAR_STEP : GRID;
  const { picked } = stage;
  const [first] = picked;
  if (first === undefined) stage.pan(dx * LOOK_PX, dy * LOOK_PX);
  else if (event.ctrlKey || event.metaKey) {
    const others = stage.items.filter(({ id }) => !stage.chosen.get().includes(id));
    goTo(stage, neighbour(first, others, direction)?.id ?? null);
  } else if (!stage.edits) stage.pan(dx * LOOK_PX, dy * LOOK_PX);
  else if (event.altKey) growItems(stage, dx * step, dy * step);
  else moveItems(stage.board, stage.chosen.get(), dx * step, dy * step);
  return true;
}

/** Goes to the next item in the order of reading. Returns whether there is one. */
export function tab(stage: Stage, by: 1 | -1): boolean {
  const next = following(stage.items, stage.chosen.get()[0] ?? null, by);
  goTo(stage, next?.id ?? null);
  return next !== null;
}

function goTo(stage: Stage, id: string | null): void {
  const item = id === null ? null : stage.board.item(id);
  if (item === null) return;
  stage.choose([item.id], false);
  stage.reveal(item);
}

/** Goes into the one item that is chosen. */
export function openItem(stage: Stage): void {
  const [one] = stage.picked;
  if (one === undefined) return;
  stage.open(one);
}

export function removeChosen(stage: Stage): void {
  const own = (item: Item): boolean => !stage.guest || !(isPane(item.kind) || item.task);
  const ids = stage.picked.filter(own).map(({ id }) => id);
  const count = removeItems(stage.board, ids);
  if (count === 0) return;
  stage.choose([]);
  const words = plural(count, { one: 'Removed.', other: 'Removed # items.' });
  notify(words, 'plain', { words: t`Undo`, run: () => void stage.board.undo() });
}
