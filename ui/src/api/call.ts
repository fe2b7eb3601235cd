/**
 * A call to the HTTP API. Paths are relative to the page, so that it also works behind a
 * prefix; errors become a `Problem` with the server's own words.
 */

import { t } from '../language/t';
import { keyHeaders } from './page-key';
import { traceHeaders } from './trace';

/** A refused or failed call. `status` 0: the server could not be reached. */
export class Problem extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly field: string | null = null,
    readonly requestId: string | null = null,
  ) {
    super(message);
  }
}

type Listener = () => void;
const loggedOut = new Set<Listener>();

/** Calls `listener` whenever the server says nobody is logged in. */
export function onLoggedOut(listener: Listener): () => void {
  loggedOut.add(listener);
  return () => loggedOut.delete(listener);
}

/** Says that an answer outside `call` (a stream's) was a 401. */
export function reportLoggedOut(): void {
  for (const listener of loggedOut) listener();
}

/** The most connections that a browser opens to one server. */
const CONNECTIONS = 6;
const PROBE_MS = 2_000;
let calls = new AbortController();

/**
 * Ends the calls that wait for an answer, and the connections that the browser keeps for the next
 * ones. On a network that went away without a word both would wait for ever.
 */
export function dropConnections(): void {
  calls.abort();
  calls = new AbortController();
  for (let n = 0; n < CONNECTIONS; n += 1) {
    // It takes one of those connections, and a connection ends with a request that is given up.
    const signal = AbortSignal.timeout(PROBE_MS);
    fetch(address('healthz'), { cache: 'no-store', signal }).catch(() => undefined);
  }
}

/** The absolute address of an API path such as `v1/sandboxes`. */
export function address(path: string): URL {
  return new URL(path, document.baseURI);
}

/** Calls a path and returns what its JSON says; null for an empty answer. */
export async function call(
  method: string,
  path: string,
  body?: unknown,
  headers = {},
): Promise<unknown> {
  const text = await exchange(method, path, body, headers);
  return text === '' ? null : (JSON.parse(text) as unknown);
}

/** Fetches what is not JSON. */
export function download(path: string): Promise<string> {
  return exchange('GET', path, undefined, {});
}

/** Fetches bytes as they are. */
export async function downloadBytes(path: string): Promise<Blob> {
  let response: Response;
  let bytes: Blob;
  try {
    response = await fetch(address(path), {
      credentials: 'same-origin',
      headers: { ...keyHeaders(), ...traceHeaders() },
      signal: calls.signal,
    });
    bytes = await response.blob();
  } catch {
    throw new Problem(t`The server cannot be reached. Is “atoll up” running?`, 0, 'unreachable');
  }
  if (!response.ok) throw problemOf(response.status, await bytes.text());
  return bytes;
}

/** What a call outside of this file sends with it. */
export function ownHeaders(): Readonly<Record<string, string>> {
  return { ...keyHeaders(), ...traceHeaders() };
}

/** Sends bytes as they are. */
export async function upload(path: string, body: Blob): Promise<void> {
  const headers = {
    ...keyHeaders(),
    ...traceHeaders(),
    'Content-Type': 'application/octet-stream',
  };
  let response: Response;
  try {
    response = await fetch(address(path), {
      method: 'PUT',
      credentials: 'same-origin',
      headers,
      body,
    });
  } catch {
    throw new Problem(t`The connection was lost while the file was sent.`, 0, 'unreachable');
  }
  if (!response.ok) throw problemOf(response.status, await response.text());
}

async function exchange(
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const { signal } = calls;
  let response: Response;
  let text: string;
  try {
    response = await fetch(address(path), {
      method,
      credentials: 'same-origin',
      headers: {
        ...keyHeaders(),
        ...traceHeaders(),
        ...headers,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
    });
    text = await response.text();
  } catch {
    throw new Problem(t`The server cannot be reached. Is “atoll up” running?`, 0, 'unreachable');
  }
  if (!response.ok) {
    if (response.status === 401 && !path.startsWith('auth/')) reportLoggedOut();
    throw problemOf(response.status, text);
  }
  return text;
}

export function problemOf(status: number, text: string): Problem {
  try {
    const said = JSON.parse(text) as Record<string, unknown>;
    const named = typeof said.request_id === 'string' ? said.request_id : null;
    const words = [said.detail, said.title].find(
      (value) => typeof value === 'string' && value !== '',
    );
    const message = typeof words === 'string' ? words : t`The server answered ${status}.`;
    return new Problem(
      message,
      status,
      typeof said.code === 'string' ? said.code : 'error',
      typeof said.field === 'string' ? said.field : null,
      named,
    );
  } catch {
    return new Problem(t`The server answered ${status}.`, status, 'error');
  }
}

/** The path of a sandbox; what belongs to it lies below. */
export const sandboxAt = (id: string): string => `v1/sandboxes/${encodeURIComponent(id)}`;

/** A WebSocket's address. */
export function socketAddress(path: string, query: URLSearchParams): string {
  const url = address(path);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.search = query.toString();
  return url.href;
}
