/** The calls about one's own sessions and tokens. */

import { call } from './call';
import { keepKey } from './page-key';
import type { Schemas } from './types';

export type Token = Schemas['TokenView'];
/** A token just made, with its text, which is returned once. */
export type MadeToken = Schemas['MadePatView'];

/** A command line that waits to be confirmed. */
export type WaitingCliLogin = Schemas['WaitingCliLoginView'];

/** A browser that is logged in. */
export type Session = Schemas['MySessionView'];

export const accountApi = {
  async sessions(): Promise<readonly Session[]> {
    return ((await call('GET', 'v1/me/sessions')) as Schemas['MySessionList']).sessions;
  },
  endSession: (session: string) => call('DELETE', `v1/me/sessions/${encodeURIComponent(session)}`),
  /** Works in another organization from now on. */
  choose: (organization: string) => call('PUT', 'v1/me/organization', { organization }),
  logoutEverywhere: async (): Promise<void> => {
    await call('POST', 'auth/logout/everywhere');
    keepKey('person', null);
  },

  waitingCli: (code: string) =>
    call('GET', `auth/cli/${encodeURIComponent(code)}`) as Promise<WaitingCliLogin>,
  /** Lets the command line with this code act for the caller. */
  confirmCli: (code: string) => call('POST', `auth/cli/${encodeURIComponent(code)}/confirm`),

  /** The caller's tokens, or those of a service account. */
  async tokens(account?: string): Promise<readonly Token[]> {
    const whose = account === undefined ? '' : `?account=${encodeURIComponent(account)}`;
    return ((await call('GET', `v1/tokens${whose}`)) as Schemas['TokenList']).tokens;
  },
  makeToken: (body: Schemas['PatBody']) => call('POST', 'auth/pat', body) as Promise<MadeToken>,
  revokeToken: (token: string) => call('DELETE', `v1/tokens/${encodeURIComponent(token)}`),
};
