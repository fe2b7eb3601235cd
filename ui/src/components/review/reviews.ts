/** The calls of a review. */

import { call, downloadBytes, sandboxAt } from '../../api/call';
import type { Schemas } from '../../api/types';

export type Changes = Schemas['TreeChangesView'];
export type ChangedFile = Schemas['ChangedFile'];
export type Against = Schemas['Against'];
export type Hunk = Schemas['Hunk'];
export type Diff = Schemas['DiffView'];
export type Checkpoint = Schemas['CheckpointView'];

export interface Compared {
  readonly repo: number;
  readonly against: Against;
  readonly checkpoint: number | null;
}

function queryOf({ repo, against, checkpoint }: Compared): URLSearchParams {
  const query = new URLSearchParams({ repo: String(repo), against });
  if (checkpoint !== null) query.set('checkpoint', String(checkpoint));
  return query;
}

function rangeOf(hunk: Hunk): Schemas['HunkBody'] {
  const { old_start, old_lines, new_start, new_lines } = hunk;
  return { old_start, old_lines, new_start, new_lines, context: 3 };
}

/** Seconds the server waits for a change before it answers. */
const WAIT_SECONDS = '20';

export const reviews = {
  /** The files that differ; with `since` once something changed, or after a while. */
  changes(id: string, compared: Compared, since: string | null): Promise<Changes> {
    const query = queryOf(compared);
    if (since !== null) {
      query.set('since', since);
      query.set('wait', WAIT_SECONDS);
    }
    return call('GET', `${sandboxAt(id)}/changes?${query}`) as Promise<Changes>;
  },
  diff(id: string, compared: Compared, paths: readonly string[], blanks: boolean): Promise<Diff> {
    const query = queryOf(compared);
    for (const path of paths) query.append('path', path);
    query.set('whitespace', String(blanks));
    return call('GET', `${sandboxAt(id)}/diff?${query}`) as Promise<Diff>;
  },
  /** One side of an image, as it is in a commit, or in the working tree. */
  image(id: string, repo: number, path: string, commit: string | null): Promise<Blob> {
    const query = new URLSearchParams({ repo: String(repo), path, commit: commit ?? '' });
    return downloadBytes(`${sandboxAt(id)}/changes/image?${query}`);
  },
  async checkpoints(id: string, repo: number): Promise<readonly Checkpoint[]> {
    const list = await call('GET', `${sandboxAt(id)}/checkpoints?repo=${repo}`);
    return (list as Schemas['CheckpointList']).checkpoints;
  },
  /** Undoes the changes of a file, or of one hunk of it. */
  discard(
    id: string,
    { repo, against, checkpoint }: Compared,
    { path, digest }: ChangedFile,
    hunk: Hunk | null,
  ): Promise<Schemas['RestoredView']> {
    const body: Schemas['DiscardBody'] = {
      path,
      digest,
      repo,
      against,
      checkpoint,
      hunk: hunk === null ? null : rangeOf(hunk),
    };
    return call('POST', `${sandboxAt(id)}/changes/discard`, body) as Promise<
      Schemas['RestoredView']
    >;
  },
  commit(id: string, repo: number, message: string): Promise<Schemas['CommittedView']> {
    return call('POST', `${sandboxAt(id)}/commit`, { repo, message }) as Promise<
      Schemas['CommittedView']
    >;
  },
  restore(id: string, repo: number, number: number): Promise<Schemas['RestoredView']> {
    const path = `${sandboxAt(id)}/checkpoints/${number}/restore?repo=${repo}`;
    return call('POST', path) as Promise<Schemas['RestoredView']>;
  },
};
