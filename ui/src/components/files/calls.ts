/** The calls of the file views. Every name is a query parameter: none becomes part of a path. */

import {
  address,
  call,
  Problem,
  problemOf,
  reportLoggedOut,
  sandboxAt,
  ownHeaders,
} from '../../api/call';
import type { Schemas } from '../../api/types';
import { SseParser } from '../../api/sse';
import { t } from '../../language/t';
import type { Entry, Place } from './tree';

export interface Page {
  readonly entries: readonly Entry[];
  readonly next: string | null;
}

/** A change that a watch reports; after `overflow` some are missing. */
export interface Change {
  readonly type: 'created' | 'modified' | 'deleted' | 'moved' | 'overflow';
  readonly path: string;
  readonly from?: string;
}

export type Found =
  | {
      readonly type: 'name';
      readonly path: string;
      readonly kind: Entry['type'];
      readonly path_b64?: string;
    }
  | {
      readonly type: 'line';
      readonly path: string;
      readonly line: number;
      readonly before: string;
      readonly match: string;
      readonly after: string;
      readonly path_b64?: string;
    }
  | SearchEnd;

export interface SearchEnd {
  readonly type: 'end';
  readonly reason: 'all' | 'matches' | 'files' | 'bytes' | 'time';
  readonly files: number;
  readonly bytes: number;
  readonly large: number;
  readonly more: number;
}

export interface Wanted {
  readonly text: string;
  readonly where: 'name' | 'text';
  readonly exact: boolean;
  readonly all: boolean;
}

type Query = Readonly<Record<string, string>>;

function at(id: string, route: string, place: Place | null, more: Query = {}): string {
  const query = new URLSearchParams(more);
  if (place?.exact != null) query.set('path_b64', place.exact);
  else if (place !== null) query.set('path', place.path);
  return `${sandboxAt(id)}/files${route}?${query}`;
}

/** Of a page: as many as are asked for at once. */
const PAGE = '1000';

export const files = {
  list(id: string, place: Place, cursor: string | null): Promise<Page> {
    const more = cursor === null ? { limit: PAGE } : { limit: PAGE, cursor };
    return call('GET', at(id, '', place, more)) as Promise<Page>;
  },
  stat(id: string, place: Place): Promise<Entry> {
    return call('GET', at(id, '/stat', place)) as Promise<Entry>;
  },
  total(id: string, place: Place): Promise<Schemas['FileTotal']> {
    return call('GET', at(id, '/total', place)) as Promise<Schemas['FileTotal']>;
  },
  mkdir(id: string, path: string): Promise<Entry> {
    const body = { path, parents: false };
    return call('POST', at(id, '/mkdir', null), body) as Promise<Entry>;
  },
  move(id: string, from: string, to: string): Promise<Entry> {
    const body = { from, to, overwrite: false };
    return call('POST', at(id, '/move', null), body) as Promise<Entry>;
  },
  async remove(id: string, place: Place): Promise<void> {
    await call('DELETE', at(id, '', place, { recursive: 'true' }));
  },
  /** Some bytes of a file, and how many it has. */
  async part(
    id: string,
    place: Place,
    [from, to]: readonly [number, number],
    options: { readonly secrets: boolean; readonly signal: AbortSignal },
  ): Promise<{ bytes: Uint8Array; size: number }> {
    const path = at(id, '/content', place, options.secrets ? { secrets: 'allow' } : {});
    const response = await open(path, options.signal, { Range: `bytes=${from}-${to - 1}` });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const size = Number(response.headers.get('Content-Range')?.split('/')[1]);
    return { bytes, size: Number.isFinite(size) ? size : from + bytes.length };
  },
  /** The address of a file's bytes, or of a folder as tar. */
  download(id: string, place: Place, isFolder: boolean, secrets: boolean): string {
    return at(id, isFolder ? '/archive' : '/content', place, secrets ? { secrets: 'allow' } : {});
  },
  uploadTo(id: string, path: string): string {
    return at(id, '/content', { path, exact: null }, { parents: 'true' });
  },
  /** Follows the changes of the whole workspace, until the signal. `felt` is called whenever
   *  something comes, which it does every 15 seconds. */
  async watch(id: string, signal: AbortSignal, felt: () => void): Promise<Events<Change>> {
    const path = at(id, '/watch', null, { recursive: 'true' });
    return events<Change>(await open(path, signal, {}), felt);
  },
  /** Searches beneath a folder; the signal ends the search inside, too. */
  async search(
    id: string,
    place: Place,
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<Events<Found>> {
    const more = {
      text: wanted.text,
      in: wanted.where,
      exact: String(wanted.exact),
      all: String(wanted.all),
    };
    return events<Found>(await open(at(id, '/search', place, more), signal, {}));
  },
};

export type Events<T> = AsyncGenerator<T, void, undefined>;

/** Opens an answer that is read as it comes. */
export async function open(path: string, signal: AbortSignal, headers: Query): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address(path), {
      credentials: 'same-origin',
      headers: { ...ownHeaders(), ...headers },
      signal,
    });
  } catch (reason) {
    if (signal.aborted) throw reason;
    throw new Problem(t`The server cannot be reached. Is “atoll up” running?`, 0, 'unreachable');
  }
  if (response.ok) return response;
  if (response.status === 401) reportLoggedOut();
  throw problemOf(response.status, await response.text());
}

async function* events<T>(response: Response, felt?: () => void): Events<T> {
  if (response.body === null) return;
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      felt?.();
      for (const event of parser.feed(decoder.decode(value, { stream: true }))) {
        yield JSON.parse(event.data) as T;
      }
    }
  } finally {
    // Whoever stops reading ends what is read.
    reader.cancel().catch(() => undefined);
  }
}
