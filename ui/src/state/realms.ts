/** How people log in here: by a link from the machine (`local`), or at a provider of identities. */

import { call, Problem } from '../api/call';
import type { Schemas } from '../api/types';
import { Store } from './store';

/** A provider where people log in. */
export type Realm = Schemas['RealmView'];
export type Realms = Pick<Schemas['RealmList'], 'mode' | 'realms'>;

const LOCAL: Realms = { mode: 'local', realms: [] };

export const realms = new Store<Realms>(LOCAL);

/** Whether people are of this home alone: nobody logs in at a provider. */
export function isLocal({ mode }: Realms): boolean {
  return mode === 'local';
}

let asked: Promise<void> | null = null;

/** Asks once for the page's life; what could not be asked is asked again the next time. */
export function loadRealms(): Promise<void> {
  asked ??= (call('GET', 'auth/realms') as Promise<Realms>).then(
    (found) => realms.set(found),
    (reason: unknown) => {
      asked = null;
      if (!(reason instanceof Problem)) throw reason;
    },
  );
  return asked;
}

/** Where a login at a provider begins. `back` is the place in the page to come back to. */
export function loginAddress({ login_path: path }: Realm, back: string): string {
  const url = new URL(path.replace(/^\/+/, ''), document.baseURI);
  url.searchParams.set('next', back);
  return url.href;
}
