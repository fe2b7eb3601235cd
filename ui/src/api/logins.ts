/** Logins of agents at their vendors (`docs/program/agent-logins.md`). No answer holds a token. */

import { call } from './call';
import type { Schemas } from './types';

export type AgentLogin = Schemas['AgentLoginView'];
export type LoginStatus = Schemas['LoginState'];

/** How a person logs in, as the API numbers it. */
export const METHODS = { browser: 0, device: 1, key: 2 } as const;
export type LoginMethod = keyof typeof METHODS;

const at = (id: string): string => `v1/agent-logins/${encodeURIComponent(id)}`;

export const loginsApi = {
  /** Open ones are few; those that ended are the newest of them. */
  async list(): Promise<readonly AgentLogin[]> {
    return ((await call('GET', 'v1/agent-logins?limit=100')) as Schemas['AgentLoginList']).logins;
  },
  /** The key goes in, and never comes out. */
  begin: (agent: string, method: LoginMethod, key: string, provider: string) =>
    call('POST', 'v1/agent-logins', {
      agent,
      method: METHODS[method],
      ...(method === 'key' ? { api_key: key, provider } : {}),
    }) as Promise<AgentLogin>,
  paste: (id: string, redirect: string) =>
    call('POST', `${at(id)}/redirect`, { redirect }) as Promise<AgentLogin>,
  use: (id: string, inUse: boolean) =>
    call('PUT', `${at(id)}/use`, { in_use: inUse }) as Promise<AgentLogin>,
  /** Puts its access token into these sandboxes and profiles without doors, and into no other. */
  expose: (id: string, places: readonly string[]) =>
    call('PUT', `${at(id)}/exposure`, { exposed_to: places }) as Promise<AgentLogin>,
  end: (id: string) => call('DELETE', at(id)) as Promise<AgentLogin>,
};
