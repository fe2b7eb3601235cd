/** Whether a person is logged in, and the exchange of a one-time link for a cookie. */

import { api, onLoggedOut, Problem } from '../api/client';
import { route, parse } from './route';
import { Store } from './store';

export type Login =
  | { readonly is: 'checking' }
  | { readonly is: 'in'; readonly name: string }
  /** `why` says what went wrong, when something did. */
  | { readonly is: 'out'; readonly why: string | null };

export const login = new Store<Login>({ is: 'checking' });

const LINK = /^#login=(.+)$/;

/** Logs in by the link in the address, if there is one, or finds out who is there. */
export async function begin(): Promise<void> {
  const ticket = LINK.exec(location.hash)?.[1];
  try {
    if (ticket !== undefined) {
      // Out of the address bar and the history before anything else can fail.
      history.replaceState(null, '', '#/');
      route.set(parse('#/'));
      await api.login(decodeURIComponent(ticket));
    }
    login.set({ is: 'in', name: (await api.me()).name });
  } catch (reason) {
    login.set({ is: 'out', why: whyOf(reason, ticket !== undefined) });
  }
}

function whyOf(reason: unknown, byLink: boolean): string | null {
  if (!(reason instanceof Problem)) throw reason;
  if (reason.status === 0) return reason.message;
  if (byLink) return 'This link was used already or is too old. Links work once.';
  return reason.status === 401 ? null : reason.message;
}

export async function logOut(): Promise<void> {
  await api.logout();
  login.set({ is: 'out', why: null });
}

onLoggedOut(() => {
  if (login.get().is === 'in') {
    login.set({ is: 'out', why: 'Your login has ended.' });
  }
});

window.addEventListener('hashchange', () => {
  if (LINK.test(location.hash)) void begin();
});
