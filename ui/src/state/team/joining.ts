/**
 * An invitation to an organization that somebody opened: `#join=SECRET`.
 *
 * Whoever accepts it logs in first, maybe at another site. Until it is accepted or declined, this
 * tab keeps the secret; it never is part of an address that a server sees.
 */

import { decode } from '../route';
import { Store } from '../store';

export const JOIN = /^#join=(.+)$/;
const KEPT = 'atoll.join';

/** The secret of the invitation; null where there is none. */
export const joining = new Store<string | null>(sessionStorage.getItem(KEPT));

/** Takes an invitation out of the address bar and the history. */
export function takeInvitation(): void {
  const secret = JOIN.exec(location.hash)?.[1];
  if (secret === undefined) return;
  history.replaceState(null, '', '#/');
  sessionStorage.setItem(KEPT, decode(secret));
  joining.set(decode(secret));
}

/** Forgets the invitation: it was accepted, declined, or does not work. */
export function forgetInvitation(): void {
  sessionStorage.removeItem(KEPT);
  joining.set(null);
}
