/** A tree of files as it was loaded so far, and its rows on the screen. Pure.
 *
 * Every folder is loaded in pages: one of 100,000 entries has as many rows as were read of it.
 */

import type { Schemas } from '../../api/types';
import { t } from '../../language/t';

export type Entry = Schemas['FileEntry'];

/** A place in the workspace; `exact` is the path in base64 where it is not UTF-8. */
export interface Place {
  readonly path: string;
  readonly exact: string | null;
}

export const ROOT: Place = { path: '', exact: null };

/** The entries of a folder that were read; `next` is the cursor of those that were not. */
export interface Folder {
  readonly entries: readonly Entry[];
  readonly next: string | null;
  readonly loading: boolean;
  readonly problem: string | null;
}

export interface Tree {
  readonly folders: ReadonlyMap<string, Folder>;
  readonly open: ReadonlySet<string>;
}

export type Row =
  | {
      readonly kind: 'entry';
      readonly key: string;
      readonly place: Place;
      readonly entry: Entry;
      readonly depth: number;
      readonly open: boolean;
      /** Its number among its siblings, and how many were read of them. */
      readonly at: number;
      readonly of: number;
    }
  | { readonly kind: 'more'; readonly key: string; readonly place: Place; readonly depth: number }
  | { readonly kind: 'note'; readonly key: string; readonly words: string; readonly depth: number };

export type EntryRow = Extract<Row, { readonly kind: 'entry' }>;

/** Deeper folders are reached by a search. */
const DEPTH_MAX = 64;

export const EMPTY: Tree = { folders: new Map(), open: new Set([keyOf(ROOT)]) };

/** The name of a place among all others. */
export function keyOf({ path, exact }: Place): string {
  return exact === null ? path : `\0${exact}`;
}

/** The place of an entry in a folder. */
export function placeIn(folder: Place, { path, name, name_b64: exact }: Entry): Place {
  if (folder.exact === null && (exact === undefined || exact === null)) {
    return { path, exact: null };
  }
  const above = folder.exact === null ? encoded(folder.path) : decoded(folder.exact);
  const own = exact === undefined || exact === null ? encoded(name) : decoded(exact);
  return { path, exact: btoa(above === '' ? own : `${above}/${own}`) };
}

/** The folder that a path lies in. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** A path below a folder. */
export function joined(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** Bytes as a string of characters up to U+00FF, which base64 is of. */
function encoded(text: string): string {
  return Array.from(new TextEncoder().encode(text), (one) => String.fromCharCode(one)).join('');
}

function decoded(base64: string): string {
  return atob(base64);
}

/** Folders first, where all of them are known: a part keeps the order in which it came. */
function ordered({ entries, next }: Folder): readonly Entry[] {
  if (next !== null) return entries;
  const rank = ({ type }: Entry): number => (type === 'dir' ? 0 : 1);
  return [...entries].sort((a, b) => rank(a) - rank(b));
}

/** What is seen of a tree, from its root on. */
export function rowsOf(tree: Tree): readonly Row[] {
  const rows: Row[] = [];
  add(rows, tree, ROOT, 0);
  return rows;
}

function add(rows: Row[], tree: Tree, folder: Place, depth: number): void {
  const key = keyOf(folder);
  const found = tree.folders.get(key);
  if (found === undefined) {
    rows.push({ kind: 'note', key: `${key}\0note`, words: t`Loading…`, depth });
    return;
  }
  const entries = ordered(found);
  entries.forEach((entry, i) => {
    const place = placeIn(folder, entry);
    const inner = keyOf(place);
    const open = entry.type === 'dir' && tree.open.has(inner) && depth < DEPTH_MAX;
    const of = entries.length;
    rows.push({ kind: 'entry', key: inner, place, entry, depth, open, at: i + 1, of });
    if (open) add(rows, tree, place, depth + 1);
  });
  const words = found.problem ?? (entries.length === 0 && !found.loading ? t`Empty` : null);
  if (words !== null) rows.push({ kind: 'note', key: `${key}\0note`, words, depth });
  if (found.next !== null) rows.push({ kind: 'more', key: `${key}\0more`, place: folder, depth });
}

export function withFolder(tree: Tree, place: Place, folder: Folder): Tree {
  return { ...tree, folders: new Map(tree.folders).set(keyOf(place), folder) };
}

/** Opens or closes a folder; what was read of it is kept. */
export function toggled(tree: Tree, key: string, open: boolean): Tree {
  const set = new Set(tree.open);
  if (open) set.add(key);
  else set.delete(key);
  return { ...tree, open: set };
}

/** The entries with one of them as it is now, or without it where it is gone. */
export function upserted(
  entries: readonly Entry[],
  name: string,
  now: Entry | null,
): readonly Entry[] {
  const at = entries.findIndex((one) => one.name === name && one.name_b64 == null);
  if (now === null) return at < 0 ? entries : entries.toSpliced(at, 1);
  if (at >= 0) return entries.with(at, now);
  const place = entries.findIndex((one) => one.name > name);
  return place < 0 ? [...entries, now] : entries.toSpliced(place, 0, now);
}

/** The folders that were read and hold a path that changed, by their keys, with these paths. */
export function touched(
  tree: Tree,
  paths: Iterable<string>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const path of paths) {
    const folder = folderOf(path);
    if (!tree.folders.has(folder)) continue;
    const names = found.get(folder) ?? new Set();
    found.set(folder, names.add(path));
  }
  return found;
}
