/**
 * The items of a dashboard as the page reads them out of its document. Pure.
 *
 * Everything in a document was written by somebody: what is not of the expected shape is read as
 * absent, and a kind that this page does not know stays an item with a box and a name.
 */

import * as Y from 'yjs';

import { t, worded } from '../../language/t';
import { safeAddress } from './links';
import { wordsOf } from './rich';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export const COLOURS = ['yellow', 'green', 'blue', 'pink', 'grey'] as const;
export type Colour = (typeof COLOURS)[number];

/** The work that a todo was given to an agent for. */
export interface TodoTask {
  readonly sandboxId: string;
  readonly branch: string;
}

export interface Item extends Box {
  readonly id: string;
  readonly kind: string;
  readonly z: number;
  readonly locked: boolean;
  /** The frame that carries it. */
  readonly frame: string | null;
  readonly group: string | null;
  /** Who made it, by their person id, and when. */
  readonly by: string;
  readonly at: string;
  readonly title: string;
  readonly colour: Colour;
  /** Rich text of a note or todo. */
  readonly text: Y.Text | null;
  readonly done: boolean;
  readonly proposedDone: boolean;
  readonly assignee: string | null;
  /** A day, as `YYYY-MM-DD`. */
  readonly due: string | null;
  readonly task: TodoTask | null;
  readonly sandboxId: string | null;
  readonly terminalId: string | null;
  /** The agent that was started in it; '' where the document does not say. */
  readonly agent: string;
  /** Whether its terminal is only written down for those who do not see the sandbox: it shows the
   *  agent that the sandbox has now. */
  readonly follows: boolean;
  readonly view: 'terminal' | 'cards';
  readonly path: string;
  readonly port: number | null;
  /** A link's address, `http` or `https`; null for any other. */
  readonly url: string | null;
  /** Ids of items that a connection leads to. */
  readonly to: readonly string[];
  /** Grows with each change, of the text, too. */
  readonly rev: number;
}

/** Before the other item's id, in the name of a field that connects the two. */
export const TO = 'to:';

export type Fields = Y.Map<unknown>;

/** Beyond that, coordinates are refused. */
const FAR = 1_000_000;
export const LEAST = { w: 48, h: 32 } as const;
const MOST_SIDE = 20_000;
export const MAX_TITLE = 200;
const MAX_AGENT = 128;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The size of a new item. */
export function sizeOf(kind: string): { readonly w: number; readonly h: number } {
  switch (kind) {
    case 'note':
      return { w: 208, h: 176 };
    case 'text':
      return { w: 264, h: 48 };
    case 'todo':
      return { w: 328, h: 136 };
    case 'terminal':
    case 'agent':
      return { w: 664, h: 416 };
    case 'link':
      return { w: 264, h: 64 };
    case 'frame':
      return { w: 720, h: 480 };
    case 'files':
    case 'diff':
    case 'preview':
      return { w: 760, h: 480 };
    default:
      return { w: 400, h: 320 };
  }
}

/** Kinds whose body is the pane's own: they are moved by their head. */
export function isPane(kind: string): boolean {
  return !['note', 'text', 'todo', 'link', 'frame'].includes(kind);
}

/** The kinds that hold rich text. */
export function hasText(kind: string): boolean {
  return kind === 'note' || kind === 'text' || kind === 'todo';
}

/** Reads an item; null for what is none. */
export function readItem(id: string, fields: unknown, rev: number): Item | null {
  if (!(fields instanceof Y.Map)) return null;
  const kind = textIn(fields, 'kind');
  if (kind === '') return null;
  return { id, kind, rev, ...boxOf(fields), ...placeOf(fields), ...contentOf(fields) };
}

function boxOf(fields: Fields): Box {
  return {
    x: numberOf(fields, 'x', -FAR, FAR),
    y: numberOf(fields, 'y', -FAR, FAR),
    w: numberOf(fields, 'w', LEAST.w, MOST_SIDE),
    h: numberOf(fields, 'h', LEAST.h, MOST_SIDE),
  };
}

function placeOf(fields: Fields) {
  return {
    z: numberOf(fields, 'z', -FAR, FAR),
    locked: fields.get('locked') === true,
    frame: textIn(fields, 'frame') || null,
    group: textIn(fields, 'group') || null,
    by: textIn(fields, 'by'),
    at: textIn(fields, 'at'),
  };
}

function contentOf(fields: Fields) {
  const text = fields.get('text');
  const due = textIn(fields, 'due');
  const port = fields.get('port');
  return {
    title: textIn(fields, 'title').slice(0, MAX_TITLE),
    colour: COLOURS.find((one) => one === fields.get('colour')) ?? 'yellow',
    text: text instanceof Y.Text ? text : null,
    done: fields.get('done') === true,
    proposedDone: fields.get('proposed_done') === true,
    assignee: textIn(fields, 'assignee') || null,
    due: DAY.test(due) ? due : null,
    task: taskOf(fields.get('task')),
    sandboxId: textIn(fields, 'sandbox_id') || null,
    terminalId: textIn(fields, 'terminal_id') || null,
    agent: textIn(fields, 'agent').slice(0, MAX_AGENT),
    follows: fields.get('follows') === true,
    view: fields.get('view') === 'cards' ? ('cards' as const) : ('terminal' as const),
    path: textIn(fields, 'path'),
    port: typeof port === 'number' && Number.isInteger(port) ? port : null,
    url: safeAddress(textIn(fields, 'url')),
    to: [...fields.keys()].filter((key) => key.startsWith(TO)).map((key) => key.slice(TO.length)),
  };
}

/** A task, stored as a plain object or as a map. */
function taskOf(value: unknown): TodoTask | null {
  const plain: unknown = value instanceof Y.Map ? value.toJSON() : value;
  if (typeof plain !== 'object' || plain === null) return null;
  const { sandbox_id: sandboxId, branch } = plain as Record<string, unknown>;
  if (typeof sandboxId !== 'string' || sandboxId === '') return null;
  return { sandboxId, branch: typeof branch === 'string' ? branch : '' };
}

function textIn(fields: Fields, key: string): string {
  const value = fields.get(key);
  return typeof value === 'string' ? value : '';
}

function numberOf(fields: Fields, key: string, least: number, most: number): number {
  const value = fields.get(key);
  const known = typeof value === 'number' && Number.isFinite(value) ? value : 0;
  return Math.min(most, Math.max(least, known));
}

/** What a person calls an item: its title, the first words of its text, else its kind. */
export function nameOf(item: Item): string {
  const words = item.title || firstWords(item);
  return words === '' ? (KIND_WORDS()[item.kind] ?? item.kind) : words;
}

const NAME_LENGTH = 60;

function firstWords({ text, url }: Item): string {
  const line = (wordsOf(text).trim() || (url ?? '')).split('\n')[0] ?? '';
  return line.length > NAME_LENGTH ? `${line.slice(0, NAME_LENGTH)}…` : line;
}

export const KIND_WORDS = worded<Readonly<Record<string, string>>>(() => ({
  note: t`Note`,
  text: t`Text`,
  todo: t`Todo`,
  terminal: t`Terminal`,
  agent: t`Agent`,
  files: t`Files`,
  viewer: t`File`,
  diff: t`Changes`,
  preview: t`Preview`,
  events: t`Events`,
  approvals: t`Approvals`,
  link: t`Link`,
  image: t`Image`,
  frame: t`Frame`,
}));

const ID_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** A new id with that prefix, of sixteen letters and digits. */
export function makeId(prefix: 'itm' | 'grp' = 'itm'): string {
  // 252 is the largest multiple of 36 in a byte: what is above would favour the first letters.
  let letters = '';
  while (letters.length < 16) {
    for (const byte of crypto.getRandomValues(new Uint8Array(24)))
      if (byte < 252 && letters.length < 16) letters += ID_LETTERS[byte % 36] ?? '';
  }
  return `${prefix}_${letters}`;
}
