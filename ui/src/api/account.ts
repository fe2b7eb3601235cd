/** The calls about one's own sessions and tokens. */

import { call } from './call';
import { keepKey } from './page-key';
import type { Schemas } from './types';

export type Token = Schemas['TokenView'];
/** A token of a member, as administrators see it. */
export type TeamToken = Schemas['TeamTokenView'];
/** A token just made, with its text, which is returned once. */
export type MadeToken = Schemas['MadePatView'];

/** A command line that waits to be confirmed. */
export type WaitingCliLogin = Schemas['WaitingCliLoginView'];

/** A key by which one logs in over SSH. */
export type SshKey = Schemas['SshKeyView'];

/** A browser that is logged in. */
export type Session = Schemas['MySessionView'];

/** One's login at a provider, for who runs the installation. */
export type OwnLogin = Schemas['OwnLoginView'];
/** Whom a link makes of the caller, and by which login. */
export type OwnLinkOffer = Schemas['OwnLinkOffer'];

/** More tokens of a team are not listed at once. */
const MOST_TOKENS = 5000;

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

  /** A list of one. */
  ownLogin: async (): Promise<readonly OwnLogin[]> => [
    (await call('GET', 'v1/me/login')) as OwnLogin,
  ],
  /** The secret of a new link. */
  makeLink: async (): Promise<string> =>
    ((await call('POST', 'v1/me/login')) as Schemas['OwnLinkView']).secret,
  endOwnLogin: () => call('DELETE', 'v1/me/login'),
  lookAtLink: (secret: string) =>
    call('POST', 'v1/me/login/look', { secret }) as Promise<OwnLinkOffer>,
  acceptLink: (secret: string) => call('POST', 'v1/me/login/accept', { secret }),

  waitingCli: (code: string) =>
    call('GET', `auth/cli/${encodeURIComponent(code)}`) as Promise<WaitingCliLogin>,
  /** Lets the command line with this code act for the caller. */
  confirmCli: (code: string) => call('POST', `auth/cli/${encodeURIComponent(code)}/confirm`),

  async sshKeys(): Promise<readonly SshKey[]> {
    return ((await call('GET', 'v1/ssh/keys')) as Schemas['SshKeyList']).keys;
  },
  addSshKey: (key: string) => call('POST', 'v1/ssh/keys', { key }) as Promise<SshKey>,
  removeSshKey: (key: string) => call('DELETE', `v1/ssh/keys/${encodeURIComponent(key)}`),

  /** The caller's tokens, or those of a service account. */
  async tokens(account?: string): Promise<readonly Token[]> {
    const whose = account === undefined ? '' : `?account=${encodeURIComponent(account)}`;
    return ((await call('GET', `v1/tokens${whose}`)) as Schemas['TokenList']).tokens;
  },
  makeToken: (body: Schemas['PatBody']) => call('POST', 'auth/pat', body) as Promise<MadeToken>,
  /** The tokens of all members, for administrators. */
  async teamTokens(organization: string): Promise<readonly TeamToken[]> {
    const at = `v1/organizations/${encodeURIComponent(organization)}/tokens`;
    const found: TeamToken[] = [];
    let cursor: string | null = '';
    while (cursor !== null && found.length < MOST_TOKENS) {
      const query = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = (await call('GET', `${at}?limit=1000${query}`)) as Schemas['TeamTokenList'];
      found.push(...page.tokens);
      cursor = page.next;
    }
    return found;
  },
  revokeTeamToken: (organization: string, token: string) =>
    call(
      'DELETE',
      `v1/organizations/${encodeURIComponent(organization)}/tokens/${encodeURIComponent(token)}`,
    ),
  revokeToken: (token: string) => call('DELETE', `v1/tokens/${encodeURIComponent(token)}`),
};
