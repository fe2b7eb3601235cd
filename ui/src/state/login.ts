/** Whether a person is logged in, and the exchange of a one-time link for a cookie. */

import { accountApi } from '../api/account';
import { onLoggedOut, Problem } from '../api/call';
import { api } from '../api/client';
import type { Me, GuestAccess } from '../api/types';
import { t } from '../language/t';
import { leavePush } from './attention/push';
import { BACK, finishConsent, takeConsent } from './team/consent';
import { forgetChoices } from './tasks/choices';
import { forgetDrafts } from './drafts';
import { JOIN, takeInvitation } from './team/joining';
import { OWN_LINK, takeLink } from './team/linking';
import { loadRealms, realms } from './realms';
import { go, goTo, hashOf, parse, route } from './route';
import { Store } from './store';
import { hadTeam, loadTeam, setCaller } from './team/team';

export type Login =
  | { readonly is: 'checking' }
  | { readonly is: 'in'; readonly name: string }
  /** Somebody who logged in at a provider and is a member of nothing yet. */
  | { readonly is: 'newcomer'; readonly name: string }
  /** Somebody opened a share link and has not come in yet. */
  | { readonly is: 'invited'; readonly ticket: string; readonly why: string | null }
  /** Somebody who came by a share link; `over` once the server says that it has ended. */
  | {
      readonly is: 'guest';
      readonly name: string;
      readonly access: GuestAccess;
      readonly over: boolean;
    }
  /** The server did not answer at the start; `ticket` is a login link's that was not used. */
  | { readonly is: 'away'; readonly ticket: string | undefined }
  /** `why` says what went wrong, when something did; `ended`: somebody was logged in before. */
  | { readonly is: 'out'; readonly why: string | null; readonly ended: boolean }
  /** A guest who left, or came back after the link's end. */
  | { readonly is: 'over' };

export const login = new Store<Login>({ is: 'checking' });

/** A login link, or the way back from a provider. */
const LINK = /^#login=(.+)$/;
const SHARE = /^#share=(.+)$/;
/** Set while the browser logs out at the provider, from where it comes back here. */
const LEFT = 'atoll.left';
/** Set in this tab's storage while it is a guest's, so that a reload still knows. */
const GUEST = 'atoll.guest';

/** The organization of those who have none. */
const NOBODY = 'nobody';

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
    showPlace('');
    login.set({ is: 'invited', ticket: decodeURIComponent(share), why: null });
    return;
  }
  takeInvitation();
  takeLink();
  if (takeConsent()) showPlace('secrets');
  const ticket = LINK.exec(location.hash)?.[1];
  // Out of the address bar and the history before anything else can fail.
  if (ticket !== undefined) showPlace('');
  await enter(ticket);
}

/** Tries once more to reach the server that did not answer. */
export async function enterAgain(): Promise<void> {
  const who = login.get();
  if (who.is === 'away') await enter(who.ticket);
}

async function enter(ticket: string | undefined): Promise<void> {
  let unused = ticket;
  try {
    if (ticket !== undefined) {
      const next = await api.login(decodeURIComponent(ticket));
      unused = undefined;
      // Whoever went on meanwhile stays there.
      if (next !== '' && location.hash === '#/') showPlace(next);
    }
    const me = await api.me();
    // Before the page is shown, which says what is connected.
    await finishConsent();
    await applyLogin(me);
  } catch (reason) {
    if (reason instanceof Problem && reason.status === 0) {
      login.set({ is: 'away', ticket: unused });
      return;
    }
    // What the login screen offers is known before anything is shown.
    await loadRealms();
    const why = whyOf(reason, ticket !== undefined);
    const ended = sessionStorage.getItem(LEFT) !== null;
    sessionStorage.removeItem(LEFT);
    login.set(why === null && wasGuest() ? { is: 'over' } : { is: 'out', why, ended });
  }
}

/** Puts a place of the page into the address, in the stead of what is there. */
function showPlace(place: string): void {
  const hash = hashOf(parse(`#/${place.replace(/^#?\/?/, '')}`));
  history.replaceState(null, '', hash);
  route.set(parse(hash));
}

/** Comes in by a share link, under a name of one's own. */
export async function comeIn(ticket: string, name: string): Promise<void> {
  try {
    const { guest } = await api.comeIn(ticket, name.trim());
    localStorage.setItem(NAME, name.trim());
    const me = await api.me();
    await applyLogin(me);
    // Who is logged in already stays who they are, and is led to the place.
    if (me.guest !== null || guest === null) return;
    if (guest.dashboard_id === null) go(guest.sandbox_id, guest.terminal_id);
    else goTo('dashboards', guest.dashboard_id);
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

async function applyLogin(me: Me): Promise<void> {
  if (me.guest === null) {
    sessionStorage.removeItem(GUEST);
    if (me.org_id === NOBODY) {
      // What the page asks about at its start is refused to them.
      await loadRealms();
      login.set({ is: 'newcomer', name: me.name });
      return;
    }
    setCaller(me);
    // What the role allows is known before anything is shown; an owner is allowed everything.
    const lesser = me.role !== null && me.role !== 'owner';
    if (lesser || hadTeam()) await loadTeam().catch(() => undefined);
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
  if (byLink && realms.get().mode === 'oidc') {
    return t`This login is over, or was begun in another browser. Log in again.`;
  }
  if (byLink) return t`This link was used already or is too old. Links work once.`;
  return reason.status === 401 ? null : reason.message;
}

export async function logOut(): Promise<void> {
  await leavePush();
  const provider = await api.logout();
  forgetDrafts();
  forgetChoices();
  if (provider === null) return showLoggedOut(null);
  sessionStorage.setItem(LEFT, 'yes');
  location.assign(provider);
}

/** Ends every login of this person, and shows the login screen. */
export async function logOutEverywhere(): Promise<void> {
  await leavePush();
  await accountApi.logoutEverywhere();
  forgetDrafts();
  forgetChoices();
  await showLoggedOut(null);
}

/** Shows the login screen to somebody who was logged in. */
async function showLoggedOut(why: string | null): Promise<void> {
  const before = login.get();
  await loadRealms();
  // Several calls may have been refused at once, and somebody may be in again.
  if (login.get() !== before) return;
  login.set(wasGuest() ? { is: 'over' } : { is: 'out', why, ended: true });
}

onLoggedOut(() => {
  const who = login.get();
  if (who.is === 'in' || who.is === 'newcomer') void showLoggedOut(t`Your login has ended.`);
  // The room stays: what was on the screen is the guest's to read on.
  if (who.is === 'guest') login.set({ ...who, over: true });
});

window.addEventListener('hashchange', () => {
  if ([LINK, SHARE, JOIN, OWN_LINK, BACK].some((one) => one.test(location.hash))) void begin();
});
