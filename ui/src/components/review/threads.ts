/** Review threads of a sandbox: what people say about lines of its change. The server keeps them. */

import { useEffect, useMemo, useState } from 'react';
import { call, sandboxAt } from '../../api/call';
import type { Schemas } from '../../api/types';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { moveThreads, threadsMoved } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import type { Place } from './look';
import { showOnceAnswered } from './retry';
import type { ChangedFile, Compared } from './reviews';

export type ReviewThread = Schemas['ReviewThreadView'];
export type Remark = Schemas['RemarkView'];
type NewThread = Omit<Schemas['ThreadBody'], 'text'>;

/** A thread where it is now; `line` is null where its lines are gone. */
export interface PlacedThread {
  readonly thread: ReviewThread;
  readonly side: Place['side'];
  readonly line: number | null;
}

const at = (id: string): string => `${sandboxAt(id)}/threads`;
const threadAt = (id: string, thread: string): string => `${at(id)}/${encodeURIComponent(thread)}`;
const remarkAt = (id: string, thread: string, remark: string): string =>
  `${threadAt(id, thread)}/remarks/${encodeURIComponent(remark)}`;

export async function listThreads(id: string): Promise<readonly ReviewThread[]> {
  return ((await call('GET', at(id))) as Schemas['ReviewThreadList']).threads;
}

/** Makes a call about threads, and shows them as they are after it. Returns whether it succeeded. */
async function act(id: string, words: string, made: () => Promise<unknown>): Promise<boolean> {
  try {
    await made();
    return true;
  } catch (reason) {
    notifyFailure(words)(reason);
    return false;
  } finally {
    moveThreads(id);
  }
}

/** The acts on threads. Each says itself why it failed. */
export const threads = {
  open(id: string, place: NewThread, text: string): Promise<boolean> {
    return act(id, t`The comment was not added`, () => call('POST', at(id), { ...place, text }));
  },
  reply(id: string, { thread_id: thread }: ReviewThread, text: string): Promise<boolean> {
    const path = `${threadAt(id, thread)}/remarks`;
    return act(id, t`The answer was not added`, () => call('POST', path, { text }));
  },
  reword(
    id: string,
    { thread_id: thread }: ReviewThread,
    { remark_id: remark }: Remark,
    text: string,
  ): Promise<boolean> {
    const path = remarkAt(id, thread, remark);
    return act(id, t`The comment was not changed`, () => call('PATCH', path, { text }));
  },
  withdraw(
    id: string,
    { thread_id: thread }: ReviewThread,
    { remark_id: remark }: Remark,
  ): Promise<boolean> {
    const path = remarkAt(id, thread, remark);
    return act(id, t`The comment was not removed`, () => call('DELETE', path));
  },
  resolve(id: string, { thread_id: thread }: ReviewThread, resolved: boolean): Promise<boolean> {
    const words = resolved ? t`The comment was not resolved` : t`The comment was not opened again`;
    return act(id, words, () => call('PATCH', threadAt(id, thread), { resolved }));
  },
  async send(id: string, agent: string, list: readonly ReviewThread[]): Promise<void> {
    const body = { agent_id: agent, threads: list.map(({ thread_id: thread }) => thread) };
    try {
      await call('POST', `${at(id)}/send`, body);
    } finally {
      moveThreads(id);
    }
  },
};

/** The threads of a sandbox, followed as people write. */
export function useThreads(id: string): readonly ReviewThread[] {
  const moved = useStore(threadsMoved)[id] ?? 0;
  const [list, setList] = useState<readonly ReviewThread[]>([]);
  useEffect(() => {
    let gone = false;
    void showOnceAnswered(
      () => listThreads(id),
      setList,
      () => gone,
    );
    return () => {
      gone = true;
    };
  }, [id, moved]);
  return list;
}

/** The threads of a file, each where it is now. Until the server says so, where it was opened. */
export function usePlaces(
  id: string,
  compared: Compared,
  file: ChangedFile,
  list: readonly ReviewThread[],
): readonly PlacedThread[] {
  const { path, old_path: old, digest } = file;
  const here = useMemo(
    () => list.filter((one) => isAbout(one, compared.repo, path, old)),
    [list, compared.repo, path, old],
  );
  const [places, setPlaces] = useState<ReadonlyMap<string, number | null>>(new Map());
  const ids = here.map(({ thread_id: thread }) => thread).join(' ');
  useEffect(() => {
    let gone = false;
    if (ids === '') return;
    void showOnceAnswered(
      () => placesOf(id, compared, path, old),
      setPlaces,
      () => gone,
    );
    return () => {
      gone = true;
    };
  }, [id, compared, path, old, digest, ids]);
  return useMemo(() => here.map((thread) => placed(thread, places)), [here, places]);
}

function placed(thread: ReviewThread, places: ReadonlyMap<string, number | null>): PlacedThread {
  const now = places.get(thread.thread_id);
  return { thread, side: thread.side, line: now === undefined ? thread.line : now };
}

async function placesOf(
  id: string,
  { repo, against, checkpoint }: Compared,
  path: string,
  old: string | null,
): Promise<ReadonlyMap<string, number | null>> {
  const query = new URLSearchParams({ path, repo: String(repo), against });
  if (old !== null) query.set('old_path', old);
  if (checkpoint !== null) query.set('checkpoint', String(checkpoint));
  const answer = await call('GET', `${sandboxAt(id)}/changes/threads?${query}`);
  const { places } = answer as Schemas['ThreadPlaces'];
  return new Map(places.map(({ thread_id: thread, line }) => [thread, line]));
}

/** Whether a thread is about a file, by its name or its former one. */
export function isAbout(
  { repo, path }: ReviewThread,
  number: number,
  name: string,
  former: string | null,
): boolean {
  return repo === number && path !== '' && (path === name || path === former);
}

/** `path:line`; what has no line is about a whole file, what has no path about all of it. */
export function placeOf({ path, line }: Pick<ReviewThread, 'path' | 'line'>): string {
  if (path === '') return t`The whole`;
  return line === 0 ? path : `${path}:${line}`;
}

/** What was said last in a thread. */
export const lastWords = ({ remarks }: ReviewThread): string => remarks.at(-1)?.text ?? '';
