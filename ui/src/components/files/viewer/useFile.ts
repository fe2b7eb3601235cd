/** A part of a file as it is now: read again when it changes, kept while that goes on. */

import { useCallback, useEffect, useState } from 'react';
import { Problem } from '../../../api/call';
import { t } from '../../../language/t';
import { files } from '../calls';
import type { Entry, Place } from '../tree';
import { useWatch, type News } from '../watch';
import { kindOf, LOOK_BYTES, wideText, type Kind } from './kinds';
import { partOf, PART_BYTES } from './lines';

/** Where a part begins, in bytes and lines. */
export interface Begin {
  readonly byte: number;
  readonly line: number;
}

export interface Part {
  readonly kind: Kind;
  readonly entry: Entry;
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly begin: Begin;
  /** Where the next part begins; null where this is the last one. */
  readonly next: number | null;
  readonly size: number;
}

export interface LoadedFile {
  readonly part: Part | null;
  readonly problem: Problem | Error | null;
}

/** Images and PDF are read whole. */
const WHOLE_MAX = 24 * 1024 * 1024;

interface Reading {
  readonly id: string;
  readonly place: Place;
  readonly begin: Begin;
  readonly secrets: boolean;
}

async function readPart(reading: Reading, signal: AbortSignal): Promise<Part> {
  const { id, place, secrets } = reading;
  const entry = await files.stat(id, place);
  const refusal = refusalOf(entry);
  if (refusal !== null) throw new Error(refusal);
  if (entry.type === 'file' && entry.size === 0) return emptyPart(entry);
  const { bytes: head, size } = await files.part(id, place, [0, LOOK_BYTES], { secrets, signal });
  const kind = kindOf(place.path, head);
  const whole = kind === 'image' || kind === 'pdf';
  if (kind === 'binary' || (whole && size > WHOLE_MAX)) return { ...emptyPart(entry), kind, size };
  const known = { kind, entry, size };
  if (whole) {
    const { bytes } = await files.part(id, place, [0, size], { secrets, signal });
    return { ...known, bytes, text: '', begin: reading.begin, next: null };
  }
  return { ...known, ...(await readText(reading, head, size, signal)) };
}

/** Why an entry cannot be read; null where it can. */
function refusalOf({ type }: Entry): string | null {
  if (type === 'dir') return t`This is a folder.`;
  return type === 'other' ? t`This is a pipe, a socket or a device: it is not read.` : null;
}

type Text = Pick<Part, 'bytes' | 'text' | 'begin' | 'next'>;

async function readText(
  { id, place, begin, secrets }: Reading,
  head: Uint8Array,
  size: number,
  signal: AbortSignal,
): Promise<Text> {
  const from = begin.byte;
  const end = Math.min(size, from + PART_BYTES);
  const { bytes: all } =
    from === 0 && end <= head.length
      ? { bytes: head }
      : await files.part(id, place, [from, end], { secrets, signal });
  const wide = wideText(head);
  const used = wide === null ? partOf(all, end >= size) : all.length;
  const bytes = all.subarray(0, used);
  const text = new TextDecoder(wide ?? 'utf-8').decode(bytes);
  return { bytes, text, begin, next: from + used < size ? from + used : null };
}

function emptyPart(entry: Entry): Part {
  const bytes = new Uint8Array();
  const begin = { byte: 0, line: 0 };
  return { kind: 'text', entry, bytes, text: '', begin, next: null, size: entry.size };
}

export function useFile(reading: Reading, live: boolean): LoadedFile {
  const { id, place, begin, secrets } = reading;
  const [loaded, setLoaded] = useState<LoadedFile>({ part: null, problem: null });
  const [version, setVersion] = useState(0);
  const { path } = place;
  const onNews = useCallback(
    (news: News) => {
      if (news === 'all' || news.has(path)) setVersion((now) => now + 1);
    },
    [path],
  );
  useWatch(id, live, onNews);
  useEffect(() => {
    const abort = new AbortController();
    readPart({ id, place, begin, secrets }, abort.signal).then(
      (part) => {
        if (abort.signal.aborted) return;
        setLoaded((now) => (isSame(now.part, part) ? now : { part, problem: null }));
      },
      (reason: unknown) => {
        if (abort.signal.aborted) return;
        const problem = reason instanceof Error ? reason : new Error(String(reason));
        setLoaded({ part: null, problem });
      },
    );
    return () => abort.abort();
  }, [id, place, begin, secrets, version]);
  return loaded;
}

/** Whether nothing changed: what is shown then stays as it is, with its place. */
function isSame(a: Part | null, b: Part): boolean {
  if (a === null || a.bytes.length !== b.bytes.length || a.kind !== b.kind) return false;
  if (a.begin !== b.begin || a.next !== b.next || a.entry.size !== b.entry.size) return false;
  return a.bytes.every((one, i) => one === b.bytes[i]);
}
