/** Files on their way in and out: dropped trees, uploads with progress, and downloads. */

import { address, Problem, problemOf } from '../../api/call';
import { t } from '../../language/t';
import { Store } from '../../state/store';
import { files, open } from './calls';
import { joined, keyOf, nameOf, type Place } from './tree';
import { ownHeaders } from '../../api/call';

export interface Outgoing {
  readonly file: File;
  /** Its path in the workspace. */
  readonly path: string;
}

export interface Transfer {
  readonly id: number;
  readonly sandbox: string;
  readonly words: string;
  readonly done: number;
  /** Bytes in all; null where that is not known. */
  readonly total: number | null;
  readonly state: 'running' | 'done' | 'failed';
  readonly problem: string | null;
  readonly cancel: () => void;
}

export const transfers = new Store<readonly Transfer[]>([]);

/** Of a drop. */
export const FILES_MAX = 5_000;
const DEPTH_MAX = 32;
/** A browser keeps a download in memory or on its disk before it is saved. */
const DOWNLOAD_MAX = 2 * 1024 ** 3;
const DONE_SHOWN_MS = 4_000;
let next = 1;

function add(sandbox: string, words: string, total: number | null, cancel: () => void): number {
  const id = next;
  next += 1;
  const fresh: Transfer = {
    id,
    sandbox,
    words,
    done: 0,
    total,
    state: 'running',
    problem: null,
    cancel,
  };
  transfers.set((now) => [...now, fresh]);
  return id;
}

function change(id: number, to: Partial<Transfer>): void {
  transfers.set((now) => now.map((one) => (one.id === id ? { ...one, ...to } : one)));
}

export function dismissTransfer(id: number): void {
  transfers.set((now) => now.filter((one) => one.id !== id));
}

function finish(id: number, problem: string | null): void {
  change(id, { state: problem === null ? 'done' : 'failed', problem });
  if (problem === null) window.setTimeout(() => dismissTransfer(id), DONE_SHOWN_MS);
}

/** The files of a drop, those in folders too. Raises an error when there are too many. */
export async function dropped(data: DataTransfer, folder: string): Promise<readonly Outgoing[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry());
  const loose = [...data.files];
  const found: Outgoing[] = [];
  if (entries.every((entry) => entry === null)) {
    return loose.map((file) => ({ file, path: joined(folder, file.name) }));
  }
  for (const entry of entries) if (entry !== null) await collect(entry, folder, found, 0);
  return found;
}

async function collect(
  entry: FileSystemEntry,
  folder: string,
  found: Outgoing[],
  depth: number,
): Promise<void> {
  const path = joined(folder, entry.name);
  if (found.length >= FILES_MAX || depth > DEPTH_MAX) {
    throw new Error(`At most ${FILES_MAX} files in ${DEPTH_MAX} folders are dropped at once.`);
  }
  if (entry.isFile) {
    const file = await new Promise<File>((done, failed) =>
      (entry as FileSystemFileEntry).file(done, failed),
    );
    found.push({ file, path });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, failed) =>
      reader.readEntries(done, failed),
    );
    if (some.length === 0) return;
    for (const inner of some) await collect(inner, path, found, depth + 1);
  }
}

/** The paths that are there already; of many files only the first are looked up. */
export async function taken(id: string, outgoing: readonly Outgoing[]): Promise<readonly string[]> {
  const looked = outgoing.slice(0, 50).map(async ({ path }) => {
    try {
      await files.stat(id, { path, exact: null });
      return path;
    } catch {
      return null;
    }
  });
  return (await Promise.all(looked)).filter((path) => path !== null);
}

/** Uploads files one after another, as one transfer that can be cancelled. What was complete stays
 *  when a later one fails. */
export async function upload(id: string, outgoing: readonly Outgoing[]): Promise<void> {
  const abort = new AbortController();
  const total = outgoing.reduce((sum, { file }) => sum + file.size, 0);
  const [first] = outgoing;
  if (first === undefined) return;
  const words = outgoing.length === 1 ? nameOf(first.path) : t`${outgoing.length} files`;
  const transfer = add(id, words, total, () => abort.abort());
  let before = 0;
  try {
    for (const one of outgoing) {
      const began = before;
      await put(files.uploadTo(id, one.path), one.file, abort.signal, (sent) =>
        change(transfer, { done: began + sent }),
      );
      before += one.file.size;
    }
    finish(transfer, null);
  } catch (reason) {
    if (abort.signal.aborted) dismissTransfer(transfer);
    else finish(transfer, wordsOf(reason));
  }
}

/** By XMLHttpRequest: `fetch` does not tell how much was sent. */
function put(
  path: string,
  file: File,
  signal: AbortSignal,
  onSent: (bytes: number) => void,
): Promise<void> {
  return new Promise((done, failed) => {
    if (signal.aborted) {
      failed(new Error('cancelled'));
      return;
    }
    const request = new XMLHttpRequest();
    request.open('PUT', address(path));
    for (const [name, value] of Object.entries(ownHeaders())) request.setRequestHeader(name, value);
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.upload.onprogress = ({ loaded }) => onSent(loaded);
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) done();
      else failed(problemOf(request.status, request.responseText));
    };
    request.onerror = () =>
      failed(new Problem(t`The connection was lost while the file was sent.`, 0, 'unreachable'));
    request.onabort = () => failed(new Error('cancelled'));
    signal.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}

/** Saves a file, or a folder as tar, on the person's own machine. Resolves to the problem that
 *  stands in the way; null when it was saved or cancelled. */
export async function save(
  id: string,
  place: Place,
  isFolder: boolean,
  secrets: boolean,
): Promise<Problem | null> {
  const abort = new AbortController();
  const name = saveName(place, isFolder);
  const transfer = add(id, name, null, () => abort.abort());
  try {
    const size = isFolder
      ? (await files.total(id, place)).bytes
      : (await files.stat(id, place)).size;
    if (size > DOWNLOAD_MAX) throw new Error('More than 2 GiB are copied by `atoll cp`.');
    change(transfer, { total: size });
    const response = await open(files.download(id, place, isFolder, secrets), abort.signal, {});
    give(name, await read(response, (done) => change(transfer, { done })));
    finish(transfer, null);
  } catch (reason) {
    if (abort.signal.aborted) dismissTransfer(transfer);
    else if (reason instanceof Problem && reason.code === 'holds_secret') {
      dismissTransfer(transfer);
      return reason;
    } else finish(transfer, wordsOf(reason));
  }
  return null;
}

/** A name that no system reads as anything else. */
export function saveName(place: Place, isFolder: boolean): string {
  const name = nameOf(place.path) || 'workspace';
  // eslint-disable-next-line no-control-regex -- what is no part of a name
  const plain = name.replace(/[\u0000-\u001f\u007f<>:"/\\|?*\p{Cf}]+/gu, '_');
  return `${plain.replace(/^\.+$/, '_') || keyOf(place).length}${isFolder ? '.tar' : ''}`;
}

async function read(response: Response, onDone: (bytes: number) => void): Promise<Blob> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let done = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece?.value === undefined) break;
    pieces.push(piece.value);
    done += piece.value.length;
    if (done > DOWNLOAD_MAX) throw new Error('It grew beyond 2 GiB while it was read.');
    onDone(done);
  }
  // Never as what it claims to be: a browser that opens it runs nothing.
  return new Blob(pieces, { type: 'application/octet-stream' });
}

function give(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const wordsOf = (reason: unknown): string =>
  reason instanceof Error ? reason.message : String(reason);
