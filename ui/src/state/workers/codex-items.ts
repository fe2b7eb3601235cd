/** Codex's items as cards, as `domain/agents/codex/items.py` makes them. Pure. */

import type { Card } from '../../api/types';
import { t, worded } from '../../language/t';
import { entryOf, fieldsOf, word, type Fields } from '../../api/fields';
import type { Draft } from './card-log';

type State = Card['state'];

const STATES: Readonly<Record<string, State>> = {
  inprogress: 'running',
  completed: 'done',
  success: 'done',
  failed: 'failed',
  declined: 'declined',
  interrupted: 'declined',
};
const MARKS: Readonly<Record<string, string>> = { completed: '[x]', inprogress: '[~]' };
const SHELLS = ['/bin/bash', 'bash', '/bin/sh', 'sh', '/bin/zsh', 'zsh'];
/** A longer line is shown as it is. */
const LONGEST_SPLIT = 20_000;
const MAX_INPUT = 8 * 1024;

/** The card of an item, begun or done; null for an item that shows nothing. */
export function itemCard(item: Fields, done: boolean): Draft | null {
  const kind = plain(word(item['type']));
  const state = entryOf(STATES, plain(word(item['status']))) ?? (done ? 'done' : 'running');
  const make = entryOf(CARDS, kind);
  const id = itemId(word(item['id']));
  if (make !== undefined) {
    const made = make(item, state);
    return made === null ? null : { id, state, ...made };
  }
  // An item of an unknown kind shows its text, under the kind's name.
  const text = first(item, 'text', 'message', 'review');
  return text === '' ? null : { id, kind: 'text', state, title: kind, text };
}

/** Apart from the ids of this page's own cards, whatever an agent calls its items. */
export function itemId(id: string): string {
  return `item:${id}`;
}

/** The command without the shell around it. */
export function commandText(item: Fields): string {
  const { command } = item;
  if (Array.isArray(command)) {
    const words = command.filter((one) => typeof one === 'string');
    return scriptIn(words) ?? words.join(' ');
  }
  const line = word(command);
  const shell = SHELLS.some((one) => line.startsWith(`${one} -`)) && line.length <= LONGEST_SPLIT;
  return (shell ? scriptIn(shellWords(line)) : null) ?? line;
}

/** A plan as a list of steps. */
export function planText(item: Fields): string {
  const steps = [item['plan'], item['items']].find((one) => Array.isArray(one)) ?? [];
  const lines = partsOf(steps).map((step) => {
    const mark = step['completed'] === true ? '[x]' : entryOf(MARKS, plain(word(step['status'])));
    return `${mark ?? '[ ]'} ${first(step, 'step', 'text')}`;
  });
  return lines.length === 0 ? word(item['text']) : lines.join('\n');
}

/** One spelling for `inProgress`, `in_progress` and `InProgress`. */
export function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** The first of these fields that is a text with something in it. */
export function first(fields: Fields, ...names: readonly string[]): string {
  return names.map((name) => word(fields[name])).find((one) => one !== '') ?? '';
}

/** The objects of a list. */
export function partsOf(list: unknown): readonly Fields[] {
  return (Array.isArray(list) ? list : []).map(fieldsOf).filter((one) => one !== null);
}

/** The first line, cut. */
export function short(words: string, most = 120): string {
  const [line = ''] = words.trim().split('\n', 1);
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

function scriptIn(words: readonly string[]): string | null {
  const [shell = '', flag = '', script] = words;
  const runs = SHELLS.includes(shell) && (flag === '-lc' || flag === '-c');
  return runs && words.length === 3 ? (script ?? null) : null;
}

const WORD = /\s*((?:[^\s'"\\]|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*")+)\s*/y;
const QUOTED = /\\([^])|'([^']*)'|"((?:[^"\\]|\\[^])*)"/g;

/** The words of a line as a POSIX shell splits it; none where a quote is open. */
function shellWords(line: string): readonly string[] {
  const found: string[] = [];
  WORD.lastIndex = 0;
  while (WORD.lastIndex < line.length) {
    const match = WORD.exec(line);
    if (match === null) return [];
    found.push((match[1] ?? '').replace(QUOTED, unquoted));
  }
  return found;
}

function unquoted(_: string, escaped?: string, single?: string, double = ''): string {
  return escaped ?? single ?? double.replace(/\\(["\\])/g, '$1');
}

type Made = Omit<Draft, 'id'>;

const NAMES = worded(() => ({ plan: t`Plan`, says: t`Codex says` }));

function command(item: Fields, state: State): Made {
  const [line, code] = [commandText(item), item['exitCode'] ?? item['exit_code']];
  const output = first(item, 'aggregatedOutput', 'aggregated_output');
  const ended = Number.isInteger(code);
  return {
    kind: 'bash',
    state: ended && code !== 0 ? 'failed' : state,
    title: short(line),
    ...(output === '' ? {} : { text: output }),
    data: { command: line, ...(ended ? { exit_code: code } : {}) },
  };
}

function asked(item: Fields): Made {
  return { kind: 'text', state: 'done', text: spokenIn(item), data: { role: 'person' } };
}

/** One that begins has no text: what its pieces brought stays. */
function said(item: Fields): Made {
  const text = spokenIn(item);
  return { kind: 'text', ...(text === '' ? {} : { text }) };
}

function spokenIn(item: Fields): string {
  const lines = partsOf(item['content']).map((one) => word(one['text']));
  return word(item['text']) || lines.filter((one) => one !== '').join('\n');
}

function thought(item: Fields): Made | null {
  const text = linesOf(item['summary']) || linesOf(item['content']) || word(item['text']);
  return text === '' ? null : { kind: 'thinking', text };
}

function plan(item: Fields): Made {
  return { kind: 'plan', title: NAMES().plan, text: planText(item) };
}

function search(item: Fields): Made {
  return { kind: 'tool-call', title: t`Web search: ${short(word(item['query']))}` };
}

function failed(item: Fields): Made {
  return { kind: 'status', state: 'failed', title: NAMES().says, text: word(item['message']) };
}

function files(item: Fields): Made {
  const changes = changesOf(item['changes']);
  const one = changes.length === 1;
  return {
    kind: 'diff',
    title: one ? (changes[0]?.path ?? '') : t`${changes.length} files`,
    text: changes.map(({ path, diff }) => (one ? diff : `${path}\n${diff}`)).join('\n'),
    data: { path: changes[0]?.path ?? '' },
  };
}

interface Change {
  readonly path: string;
  readonly diff: string;
}

/** Each path and its diff; added or removed files may come with their content only. */
function changesOf(listed: unknown): readonly Change[] {
  if (Array.isArray(listed)) {
    return partsOf(listed).map((one) => ({ path: word(one['path']), diff: word(one['diff']) }));
  }
  return Object.entries(fieldsOf(listed) ?? {}).map(([path, value]) => {
    const change = fieldsOf(value) ?? {};
    const sign = change['type'] === 'add' ? '+' : '-';
    const lines = word(change['content'])
      .split('\n')
      .filter((one, at) => one !== '' || at === 0);
    return {
      path,
      diff: word(change['unified_diff']) || lines.map((one) => sign + one).join('\n'),
    };
  });
}

function tool(item: Fields, state: State): Made {
  const name = [word(item['server']), first(item, 'tool', 'name')].filter(Boolean).join('.');
  const error = fieldsOf(item['error']);
  const content = partsOf(fieldsOf(item['result'])?.['content']).map((one) => word(one['text']));
  const text = word(error?.['message']) || content.join('\n');
  const input = JSON.stringify(item['arguments'] ?? null).slice(0, MAX_INPUT);
  return {
    kind: 'tool-call',
    state: error === null ? state : 'failed',
    title: name,
    ...(text === '' ? {} : { text }),
    data: { tool: name, input },
  };
}

function linesOf(value: unknown): string {
  return (Array.isArray(value) ? value : []).filter((one) => typeof one === 'string').join('\n');
}

const CARDS: Readonly<Record<string, (item: Fields, state: State) => Made | null>> = {
  usermessage: asked,
  agentmessage: said,
  reasoning: thought,
  commandexecution: command,
  filechange: files,
  plan,
  todolist: plan,
  mcptoolcall: tool,
  dynamictoolcall: tool,
  collabagenttoolcall: tool,
  collabtoolcall: tool,
  websearch: search,
  error: failed,
};
