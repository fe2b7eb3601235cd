/**
 * A link by which a login at a provider is the person who runs this Atoll: `#link=SECRET`.
 *
 * Whoever confirms it logs in first, at another site. Until then this tab keeps the secret; it never
 * is part of an address that a server sees.
 */

import { decode } from '../route';
import { Store } from '../store';

export const OWN_LINK = /^#link=(.+)$/;
const KEPT = 'atoll.link';

/** The secret of the link; null where there is none. */
export const linking = new Store<string | null>(sessionStorage.getItem(KEPT));

/** Takes a link out of the address bar and the history. */
export function takeLink(): void {
  const secret = OWN_LINK.exec(location.hash)?.[1];
  if (secret === undefined) return;
  history.replaceState(null, '', '#/');
  keepLink(decode(secret));
}

/** Keeps a link until it is confirmed or declined. */
export function keepLink(secret: string): void {
  sessionStorage.setItem(KEPT, secret);
  linking.set(secret);
}

export function forgetLink(): void {
  sessionStorage.removeItem(KEPT);
  linking.set(null);
}
