/**
 * Calls to the HTTP API. Paths are relative to the page, so that it also works behind a
 * prefix; errors become a `Problem` with the server's own words.
 */

import type { CreateSandbox, LogLine, Me, Profile, Repository, Sandbox, Terminal } from './types';

/** A refused or failed call. `status` 0: the server could not be reached. */
export class Problem extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly field: string | null = null,
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

/** The absolute address of an API path such as `v1/sandboxes`. */
export function address(path: string): URL {
  return new URL(path, document.baseURI);
}

async function call(method: string, path: string, body?: unknown, headers = {}): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(address(path), {
      method,
      credentials: 'same-origin',
      headers: body === undefined ? headers : { ...headers, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Problem('The server cannot be reached. Is “atoll up” running?', 0, 'unreachable');
  }
  const text = await response.text();
  if (!response.ok) {
    if (response.status === 401 && !path.startsWith('auth/')) reportLoggedOut();
    throw problemOf(response.status, text);
  }
  return text === '' ? null : (JSON.parse(text) as unknown);
}

function problemOf(status: number, text: string): Problem {
  try {
    const { detail, title, code, field } = JSON.parse(text) as Record<string, unknown>;
    const words = [detail, title].find((value) => typeof value === 'string' && value !== '');
    return new Problem(
      typeof words === 'string' ? words : `The server answered ${status}.`,
      status,
      typeof code === 'string' ? code : 'error',
      typeof field === 'string' ? field : null,
    );
  } catch {
    return new Problem(`The server answered ${status}.`, status, 'error');
  }
}

/** The plain shell first, then the agents, then the rest. */
function rank({ id, agent = null }: Profile): number {
  if (id === 'profile.shell') return 0;
  return agent === null ? 2 : 1;
}

const at = (id: string): string => `v1/sandboxes/${encodeURIComponent(id)}`;

export const api = {
  async me(): Promise<Me> {
    const me = (await call('GET', 'auth/me')) as Record<string, unknown>;
    const name = [me['name'], me['owner'], me['id'], me['sub']].find(
      (value) => typeof value === 'string' && value !== '',
    );
    return { name: typeof name === 'string' ? name : 'person' };
  },
  login: (ticket: string) => call('POST', 'auth/login', { ticket }),
  logout: () => call('POST', 'auth/logout'),

  async sandboxes(): Promise<Sandbox[]> {
    const all: Sandbox[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = (await call('GET', `v1/sandboxes?limit=100${query}`)) as {
        sandboxes: Sandbox[];
        next: string | null;
      };
      all.push(...page.sandboxes);
      cursor = page.next;
    } while (cursor !== null);
    return all;
  },
  sandbox: (id: string) => call('GET', at(id)) as Promise<Sandbox>,
  create: (body: CreateSandbox, idempotencyKey: string) =>
    call('POST', 'v1/sandboxes', body, { 'Idempotency-Key': idempotencyKey }) as Promise<Sandbox>,
  act: (id: string, verb: 'stop' | 'start' | 'recreate') =>
    call('POST', `${at(id)}/${verb}`) as Promise<Sandbox>,
  destroy: (id: string, keepWorktree: boolean) =>
    call(
      'POST',
      `${at(id)}/destroy${keepWorktree ? '?keep_worktree=true' : ''}`,
    ) as Promise<Sandbox>,
  /** `ttl`: what is added to its time, such as `2h`. */
  extend: (id: string, ttl: string) =>
    call('POST', `${at(id)}/extend_ttl`, { ttl }) as Promise<Sandbox>,
  async logs(id: string): Promise<LogLine[]> {
    return ((await call('GET', `${at(id)}/logs`)) as { lines: LogLine[] }).lines;
  },

  async terminals(id: string): Promise<Terminal[]> {
    return ((await call('GET', `${at(id)}/terminals`)) as { terminals: Terminal[] }).terminals;
  },
  terminal: (id: string, terminalId: string) =>
    call('GET', `${at(id)}/terminals/${encodeURIComponent(terminalId)}`) as Promise<Terminal>,
  openTerminal: (id: string, body: { agent?: string; cols?: number; rows?: number }) =>
    call('POST', `${at(id)}/terminals`, body) as Promise<Terminal>,
  closeTerminal: (id: string, terminalId: string) =>
    call('DELETE', `${at(id)}/terminals/${encodeURIComponent(terminalId)}`),
  /** The WebSocket address of a terminal's attach. */
  attachAddress(id: string, terminalId: string, query: URLSearchParams): string {
    const url = address(`${at(id)}/terminals/${encodeURIComponent(terminalId)}/attach`);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    url.search = query.toString();
    return url.href;
  },

  async profiles(): Promise<Profile[]> {
    const { profiles } = (await call('GET', 'v1/profiles')) as { profiles: Profile[] };
    return profiles.sort((a, b) => rank(a) - rank(b) || a.id.localeCompare(b.id));
  },
  async repositories(): Promise<Repository[]> {
    return ((await call('GET', 'v1/repositories')) as { repositories: Repository[] }).repositories;
  },
};
