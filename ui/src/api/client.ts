/** The calls that several views share. A view's own calls stand beside it, made with `call`. */

import { call, download, sandboxAt, socketAddress } from './call';
import { keepKey, type KeyOf } from './page-key';
import type * as Api from './types';
import type {
  Invitation,
  CreateSandbox,
  LogLine,
  Me,
  Profile,
  Repository,
  Sandbox,
  Terminal,
} from './types';

/** The plain shell first, then the agents, then the rest. */
function rank({ id, agent = null }: Profile): number {
  if (id === 'profile.shell') return 0;
  return agent === null ? 2 : 1;
}

const terminalAt = (id: string, terminalId: string): string =>
  `${sandboxAt(id)}/terminals/${encodeURIComponent(terminalId)}`;
const secretAt = ({ secret_id: id }: Api.Secret): string => `v1/secrets/${encodeURIComponent(id)}`;

function meOf(value: unknown): Me {
  const me = value as Record<string, unknown>;
  const name = [me['name'], me['id']].find((one) => typeof one === 'string' && one !== '');
  return {
    id: typeof me['id'] === 'string' ? me['id'] : '',
    org_id: typeof me['org_id'] === 'string' ? me['org_id'] : '',
    name: typeof name === 'string' ? name : 'person',
    guest: (me['guest'] as Api.GuestAccess | null | undefined) ?? null,
    role: Array.isArray(me['roles']) && typeof me['roles'][0] === 'string' ? me['roles'][0] : null,
  };
}

/** Keeps the key that came with a new cookie. */
function withKey(of: KeyOf, value: unknown): unknown {
  const key = (value as Record<string, unknown>)['page_key'];
  keepKey(of, typeof key === 'string' ? key : null);
  return value;
}

/** What becomes of the work in a sandbox that is destroyed: it is kept on the server first, or its
 *  person agrees to lose it; with neither the server refuses where there is some. */
export interface Fate {
  readonly keeps: boolean;
  readonly loses: boolean;
}

export const api = {
  me: async (): Promise<Me> => meOf(await call('GET', 'auth/me')),
  /** Returns the place of the page that a login at a provider was begun for, else ''. */
  login: async (ticket: string): Promise<string> => {
    const entered = await call('POST', 'auth/login', { ticket });
    withKey('person', entered);
    const { next } = entered as { next?: unknown };
    return typeof next === 'string' ? next : '';
  },
  /** Returns the address that ends the login at the provider, too; null where there is none. */
  logout: async (): Promise<string | null> => {
    const answer = (await call('POST', 'auth/logout')) as { end_session_url?: string } | null;
    keepKey('person', null);
    keepKey('guest', null);
    return answer?.end_session_url ?? null;
  },
  /** The name that others see of the caller. */
  rename: async (name: string): Promise<Me> => meOf(await call('PATCH', 'v1/me', { name })),
  /** What a share link's secret offers. */
  invitation: async (ticket: string): Promise<Invitation> =>
    (await call('POST', 'auth/invitations', { ticket })) as Invitation,
  /** Comes in by a share link's secret. */
  comeIn: async (ticket: string, name: string): Promise<Me> =>
    meOf(
      withKey(
        'guest',
        await call('POST', 'auth/guests', name === '' ? { ticket } : { ticket, name }),
      ),
    ),

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
  sandbox: (id: string) => call('GET', sandboxAt(id)) as Promise<Sandbox>,
  create: (body: CreateSandbox, idempotencyKey: string) =>
    call('POST', 'v1/sandboxes', body, { 'Idempotency-Key': idempotencyKey }) as Promise<Sandbox>,
  act: (id: string, verb: 'sleep' | 'stop' | 'start' | 'recreate') =>
    call('POST', `${sandboxAt(id)}/${verb}`) as Promise<Sandbox>,
  destroy: (id: string, { keeps, loses }: Fate) => {
    const query = keeps ? 'keep_worktree=true' : `unpulled=${loses ? 'lose' : 'refuse'}`;
    return call('POST', `${sandboxAt(id)}/destroy?${query}`) as Promise<Sandbox>;
  },
  unpulled: (id: string) =>
    call('GET', `${sandboxAt(id)}/unpulled`) as Promise<Api.Schemas['UnpulledView']>,
  /** `ttl`: what is added to its time, such as `2h`. */
  extend: (id: string, ttl: string) =>
    call('POST', `${sandboxAt(id)}/extend_ttl`, { ttl }) as Promise<Sandbox>,
  async logs(id: string): Promise<LogLine[]> {
    return ((await call('GET', `${sandboxAt(id)}/logs`)) as { lines: LogLine[] }).lines;
  },

  async terminals(id: string): Promise<Terminal[]> {
    return ((await call('GET', `${sandboxAt(id)}/terminals`)) as { terminals: Terminal[] })
      .terminals;
  },
  terminal: (id: string, terminalId: string) =>
    call('GET', terminalAt(id, terminalId)) as Promise<Terminal>,
  openTerminal: (
    id: string,
    body: { agent?: string; cwd?: string; cols?: number; rows?: number },
  ) => call('POST', `${sandboxAt(id)}/terminals`, body) as Promise<Terminal>,
  /** Another name, or a size that follows no driver's window. */
  changeTerminal: (id: string, terminalId: string, change: Api.TerminalChange) =>
    call('PATCH', terminalAt(id, terminalId), change) as Promise<Terminal>,
  closeTerminal: (id: string, terminalId: string) => call('DELETE', terminalAt(id, terminalId)),
  /** The WebSocket address of a terminal's attach. */
  attachAddress: (id: string, terminalId: string, query: URLSearchParams): string =>
    socketAddress(`${terminalAt(id, terminalId)}/attach`, query),
  cardsAddress: (id: string, terminalId: string, since: number): string =>
    socketAddress(
      `${terminalAt(id, terminalId)}/cards`,
      new URLSearchParams({ since: String(since), heartbeat: 'true' }),
    ),
  answer: (
    id: string,
    terminalId: string,
    card: string,
    body: { option?: string; text?: string },
  ) => call('POST', `${terminalAt(id, terminalId)}/cards/${encodeURIComponent(card)}/answer`, body),

  async agents(id: string): Promise<Api.Agent[]> {
    return ((await call('GET', `${sandboxAt(id)}/agents`)) as { agents: Api.Agent[] }).agents;
  },
  /** Starts an agent at a terminal, whose id it has then, or without one, which is read as cards. */
  startAgent: (id: string, agent: string) =>
    call('POST', `${sandboxAt(id)}/agents`, { agent }) as Promise<Api.Agent>,
  actOnAgent: (id: string, terminalId: string, action: Api.AgentAction) =>
    call('POST', `${terminalAt(id, terminalId)}/agent`, { action }) as Promise<Api.Agent>,
  ask: (id: string, terminalId: string, prompt: string) =>
    call('POST', `${terminalAt(id, terminalId)}/ask`, { prompt }) as Promise<Api.Agent>,

  /** Begins or ends a recording; everybody at the terminal is notified. */
  record: (id: string, terminalId: string, on: boolean) =>
    call(on ? 'POST' : 'DELETE', `${terminalAt(id, terminalId)}/recording`),

  async recordings(id: string): Promise<Api.RecordingInfo[]> {
    const all = (await call('GET', `${sandboxAt(id)}/recordings`)) as {
      recordings: Api.RecordingInfo[];
    };
    return all.recordings.reverse();
  },
  /** A recording's file, as text. */
  recording: (id: string, recording: string) =>
    download(`${sandboxAt(id)}/recordings/${encodeURIComponent(recording)}`),
  removeRecording: (id: string, recording: string) =>
    call('DELETE', `${sandboxAt(id)}/recordings/${encodeURIComponent(recording)}`),
  async search(id: string, words: string): Promise<Api.Found[]> {
    const path = `${sandboxAt(id)}/search?q=${encodeURIComponent(words)}`;
    return ((await call('GET', path)) as { matches: Api.Found[] }).matches;
  },

  async shares(id: string): Promise<Api.Share[]> {
    return ((await call('GET', `${sandboxAt(id)}/shares`)) as { shares: Api.Share[] }).shares;
  },
  share: (
    id: string,
    body: {
      terminal_id?: string;
      recording_id?: string;
      role: Api.Share['role'];
      ttl: string;
      name?: string;
    },
  ) => call('POST', `${sandboxAt(id)}/shares`, body) as Promise<Api.MadeShare>,
  revokeShare: (id: string, share: string) =>
    call('DELETE', `${sandboxAt(id)}/shares/${encodeURIComponent(share)}`),

  network: (id: string) => call('GET', `${sandboxAt(id)}/network`) as Promise<Api.Network>,
  switchNetwork: (id: string, change: Api.NetworkChange) =>
    call('PUT', `${sandboxAt(id)}/network`, change) as Promise<Api.Network>,
  safety: (id: string) => call('GET', `${sandboxAt(id)}/safety`) as Promise<Api.Safety>,
  /** One page of a sandbox's events after a position. */
  events: (id: string, after: number) =>
    call(
      'GET',
      `v1/events?limit=500&after=${after}&stream=${encodeURIComponent(`sandbox:${id}`)}`,
    ) as Promise<{ events: Api.Envelope[]; next: number }>,

  async secrets(): Promise<Api.Secret[]> {
    return ((await call('GET', 'v1/secrets')) as { secrets: Api.Secret[] }).secrets;
  },
  /** A new secret; `conflict` when the name is taken in its scope. */
  addSecret: (name: string, body: Api.SetSecret) =>
    call('POST', 'v1/secrets', { name, ...body }) as Promise<Api.Secret>,
  rotateSecret: (secret: Api.Secret, value: string) =>
    call('POST', `${secretAt(secret)}/rotate`, { value }) as Promise<Api.Secret>,
  removeSecret: (secret: Api.Secret) => call('DELETE', secretAt(secret)),

  async approvals(): Promise<Api.Approval[]> {
    const all = (await call('GET', 'v1/approvals?state=granted')) as {
      approvals: Api.Approval[];
    };
    return all.approvals;
  },
  revoke: (approval: string) =>
    call('POST', `v1/approvals/${encodeURIComponent(approval)}/revoke`) as Promise<Api.Approval>,

  async extensions(): Promise<Api.Extension[]> {
    return ((await call('GET', 'v1/extensions')) as { extensions: Api.Extension[] }).extensions;
  },
  async profiles(): Promise<Profile[]> {
    const { profiles } = (await call('GET', 'v1/profiles')) as { profiles: Profile[] };
    return profiles.sort((a, b) => rank(a) - rank(b) || a.id.localeCompare(b.id));
  },
  async catalogue(): Promise<Api.CatalogueAgent[]> {
    const all = (await call('GET', 'v1/agent-catalogue')) as { agents: Api.CatalogueAgent[] };
    return all.agents;
  },
  installAgent: (name: string) =>
    call('POST', `v1/agent-catalogue/${encodeURIComponent(name)}/install`),
  /** A checkout that was sent here, with its branches and tags. */
  uploaded: (key: string) =>
    call('GET', `v1/repositories/local/${encodeURIComponent(key)}`) as Promise<
      Api.Schemas['RepositoryWithRefs']
    >,
  /** Fetches a remote, with its branches and tags. */
  fetchRepository: (address: string) =>
    call('POST', 'v1/repositories/fetch', { repo_url: address }) as Promise<
      Api.Schemas['RepositoryWithRefs']
    >,
  async repositories(): Promise<Repository[]> {
    return ((await call('GET', 'v1/repositories')) as { repositories: Repository[] }).repositories;
  },
};
