/** Items as text of the clipboard, and what somebody pastes. Pure. */

import type { Board } from './board';
import { addItem, type Author, type NewItem } from './acts';
import { around, type Point } from './geometry';
import { hasText, KIND_WORDS, makeId, type Box, type Item } from './items';
import { safeAddress, typedAddress } from './links';
import { runsOf, type Run } from './rich';

const MARKER = 'atoll/items/1';
const MOST_ITEMS = 500;
const MOST_TEXT = 60_000;

interface Copied {
  readonly group: string | null;
  readonly made: NewItem & { readonly box: Box };
}

/** The fields of an item that a copy has, too, as the document spells them. */
function fieldsOf(item: Item): Record<string, unknown> {
  const { title, colour, done, due, assignee, url, path, port, view } = item;
  const shown = item.kind === 'note' || item.kind === 'frame' ? { colour } : {};
  const todo = item.kind === 'todo' ? { done, due, assignee } : {};
  return {
    ...shown,
    ...todo,
    ...(title === '' ? {} : { title }),
    ...(url === null ? {} : { url }),
    ...(path === '' ? {} : { path }),
    ...(port === null ? {} : { port }),
    ...(item.kind === 'agent' ? { view, ...(item.agent === '' ? {} : { agent: item.agent }) } : {}),
    ...(item.sandboxId === null ? {} : { sandbox_id: item.sandboxId }),
    ...(item.terminalId === null ? {} : { terminal_id: item.terminalId }),
  };
}

function copied(item: Item): Copied {
  const { group, kind, x, y, w, h, text } = item;
  const runs = text === null ? {} : { text: runsOf(text) };
  return { group, made: { kind, box: { x, y, w, h }, fields: fieldsOf(item), ...runs } };
}

/** The text that `readClip` understands. */
export function clipOf(items: readonly Item[]): string {
  return JSON.stringify({ [MARKER]: items.map(copied) });
}

/** Items in a text; null where it has none. The text may be anybody's. */
export function readClip(text: string): readonly Copied[] | null {
  if (!text.includes(MARKER)) return null;
  try {
    const list = (JSON.parse(text) as Record<string, unknown>)[MARKER];
    if (!Array.isArray(list)) return null;
    return list
      .slice(0, MOST_ITEMS)
      .map(readCopied)
      .filter((one) => one !== null);
  } catch {
    return null;
  }
}

const PLAIN_FIELDS = ['title', 'agent', 'colour', 'due', 'assignee', 'path', 'view'] as const;
const IDS = ['sandbox_id', 'terminal_id'] as const;

function readCopied(value: unknown): Copied | null {
  const one = recordOf(value);
  const made = recordOf(one?.['made']);
  if (one === null || made === null) return null;
  const [kind, box] = [made['kind'], readBox(made['box'])];
  if (box === null || typeof kind !== 'string' || !Object.hasOwn(KIND_WORDS(), kind)) return null;
  const runs = hasText(kind) ? { text: readRuns(made['text']) } : {};
  const fields = readFields(recordOf(made['fields']) ?? {});
  return { group: wordOf(one['group']), made: { kind, box, fields, ...runs } };
}

function readBox(value: unknown): Box | null {
  const box = recordOf(value);
  const sides = ['x', 'y', 'w', 'h'].map((key) => box?.[key]);
  if (!sides.every((side) => typeof side === 'number' && Number.isFinite(side))) return null;
  const [x = 0, y = 0, w = 0, h = 0] = sides as number[];
  return { x, y, w, h };
}

function readFields(said: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const key of [...PLAIN_FIELDS, ...IDS])
    if (typeof said[key] === 'string') kept[key] = said[key];
  if (typeof said['done'] === 'boolean') kept['done'] = said['done'];
  if (Number.isInteger(said['port'])) kept['port'] = said['port'];
  const url = typeof said['url'] === 'string' ? safeAddress(said['url']) : null;
  if (url !== null) kept['url'] = url;
  return kept;
}

function readRuns(value: unknown): readonly Run[] {
  if (!Array.isArray(value)) return [];
  let room = MOST_TEXT;
  return value.flatMap((one): Run[] => {
    const run = recordOf(one);
    if (typeof run?.['text'] !== 'string' || room <= 0) return [];
    const text = run['text'].slice(0, room);
    room -= text.length;
    const link = typeof run['link'] === 'string' ? safeAddress(run['link']) : null;
    const line = (['heading', 'bullet', 'ordered'] as const).find((style) => style === run['line']);
    return [
      {
        text,
        ...(run['bold'] === true ? { bold: true } : {}),
        ...(run['italic'] === true ? { italic: true } : {}),
        ...(run['code'] === true ? { code: true } : {}),
        ...(link === null ? {} : { link }),
        ...(line === undefined ? {} : { line }),
      },
    ];
  });
}

/** What a text becomes when it is pasted: a link, or a note. */
export function fromText(text: string): NewItem | null {
  const words = text.slice(0, MOST_TEXT).replace(/\r\n?/g, '\n').trim();
  if (words === '') return null;
  const url = typedAddress(words);
  if (url !== null) return { kind: 'link', fields: { url } };
  return { kind: 'note', text: [{ text: words }] };
}

/** Puts copies onto the dashboard, their middle at a place. Returns their ids. */
export function pasteItems(
  board: Board,
  copies: readonly Copied[],
  at: Point,
  author: Author,
): readonly string[] {
  const all = around(copies.map(({ made }) => made.box));
  if (all === null) return [];
  const [dx, dy] = [at.x - all.x - all.w / 2, at.y - all.y - all.h / 2];
  return addCopies(board, copies, { x: dx, y: dy }, author);
}

/** Copies items a little to the right and below. Returns the ids of the copies. */
export function duplicateItems(
  board: Board,
  items: readonly Item[],
  author: Author,
  by: Point = { x: 24, y: 24 },
): readonly string[] {
  return addCopies(board, items.map(copied), by, author);
}

function addCopies(
  board: Board,
  copies: readonly Copied[],
  by: Point,
  author: Author,
): readonly string[] {
  const groups = new Map<string, string>();
  const ids: string[] = [];
  board.act(() => {
    // Frames first: what lies in them is above them.
    for (const { made, group } of [...copies].sort(framesFirst)) {
      const { x, y, w, h } = made.box;
      const box = { x: x + by.x, y: y + by.y, w, h };
      if (group !== null && !groups.has(group)) groups.set(group, makeId('grp'));
      const fields = { ...made.fields, group: group === null ? null : groups.get(group) };
      ids.push(addItem(board, { ...made, box, fields }, author));
    }
  });
  return ids;
}

function framesFirst(a: Copied, b: Copied): number {
  return Number(b.made.kind === 'frame') - Number(a.made.kind === 'frame');
}

function recordOf(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
}

function wordOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
