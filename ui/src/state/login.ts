/** Whether a person is logged in, and the exchange of a one-time link for a cookie. */

import { onLoggedOut, Problem } from '../api/call';
import { api } from '../api/client';
import type { Me, GuestAccess } from '../api/types';
import { leavePush } from './attention/push';
import { forgetDrafts } from './drafts';
import { go, parse, route } from './route';
import { Store } from './store';

export type Login =
  | { readonly is: 'checking' }
  | { readonly is: 'in'; readonly name: string }
  /** Somebody opened a share link and has not come in yet. */
  | { readonly is: 'invited'; readonly ticket: string; readonly why: string | null }
  /** Somebody who came by a share link; `over` once the server says that it has ended. */
  | {
      readonly is: 'guest';
      readonly name: string;
      readonly access: GuestAccess;
      readonly over: boolean;
    }
  /** `why` says what went wrong, when something did. */
  | { readonly is: 'out'; readonly why: string | null }
  /** A guest who left, or came back after the link's end. */
  | { readonly is: 'over' };

export const login = new Store<Login>({ is: 'checking' });

const LINK = /^#login=(.+)$/;
const SHARE = /^#share=(.+)$/;
/** Set in this tab's storage while it is a guest's, so that a reload still knows. */
const GUEST = 'atoll.guest';

/** A guest's name of last time: it is asked for once. */
const NAME = 'atoll.guest-name';

export function guestName(): string {
  return localStorage.getItem(NAME) ?? '';
}

/** Logs in by the link in the address, if there is one, or finds out who is there. */
export async function begin(): Promise<void> {
  const share = SHARE.exec(location.hash)?.[1];
  if (share !== undefined) {
    // Out of the address bar and the history, and kept in memory only.
    history.replaceState(null, '', '#/');
    route.set(parse('#/'));
    login.set({ is: 'invited', ticket: decodeURIComponent(share), why: null });
    return;
  }
  const ticket = LINK.exec(location.hash)?.[1];
  try {
    if (ticket !== undefined) {
      // Out of the address bar and the history before anything else can fail.
      history.replaceState(null, '', '#/');
      route.set(parse('#/'));
      await api.login(decodeURIComponent(ticket));
    }
    applyLogin(await api.me());
  } catch (reason) {
    const why = whyOf(reason, ticket !== undefined);
    login.set(why === null && wasGuest() ? { is: 'over' } : { is: 'out', why });
  }
}

/** Comes in by a share link, under a name of one's own. */
export async function comeIn(ticket: string, name: string): Promise<void> {
  try {
    const { guest } = await api.comeIn(ticket, name.trim());
    localStorage.setItem(NAME, name.trim());
    const me = await api.me();
    applyLogin(me);
    // Who is logged in already stays who they are, and is led to the place.
    if (me.guest === null && guest !== null) go(guest.sandbox_id, guest.terminal_id);
  } catch (reason) {
    if (!(reason instanceof Problem)) throw reason;
    login.set({ is: 'invited', ticket, why: reason.message });
  }
}

/** Gives the person who is logged in the name that others see. */
export async function rename(name: string): Promise<void> {
  const me = await api.rename(name);
  login.set({ is: 'in', name: me.name });
}

function applyLogin(me: Me): void {
  if (me.guest === null) {
    sessionStorage.removeItem(GUEST);
    login.set({ is: 'in', name: me.name });
  } else {
    sessionStorage.setItem(GUEST, 'yes');
    login.set({ is: 'guest', name: me.name, access: me.guest, over: false });
  }
}

function wasGuest(): boolean {
  return sessionStorage.getItem(GUEST) !== null;
}

function whyOf(reason: unknown, byLink: boolean): string | null {
  if (!(reason instanceof Problem)) throw reason;
  if (reason.status === 0) return reason.message;
  if (byLink) return 'This link was used already or is too old. Links work once.';
  return reason.status === 401 ? null : reason.message;
}

export async function logOut(): Promise<void> {
  await leavePush();
  await api.logout();
  forgetDrafts();
  login.set(wasGuest() ? { is: 'over' } : { is: 'out', why: null });
}

onLoggedOut(() => {
  const who = login.get();
  if (who.is === 'in') login.set({ is: 'out', why: 'Your login has ended.' });
  // The room stays: what was on the screen is the guest's to read on.
  if (who.is === 'guest') login.set({ ...who, over: true });
});

window.addEventListener('hashchange', () => {
  if (LINK.test(location.hash) || SHARE.test(location.hash)) void begin();
});
