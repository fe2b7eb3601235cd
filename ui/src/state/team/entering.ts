/**
 * From one organization into another: by choice, by an invitation, or by leaving.
 *
 * The page starts anew in all tabs of this browser, which share the session. So nothing of the
 * former organization stays: no list, stream, terminal, title, badge or notification.
 */

import { accountApi } from '../../api/account';
import { teamApi } from '../../api/team';
import { t } from '../../language/t';
import { notify } from '../announce';
import { showBadge, titleOf } from '../attention/badge';
import { movePush } from '../attention/push';
import { workerOf } from '../attention/tell';
import { forgetDrafts } from '../drafts';
import { forgetInvitation } from './joining';
import { forgetLink } from './linking';
import { login } from '../login';

/** What is said once the page is there again. */
const ARRIVED = 'atoll.arrived';
/** Changes when the organization does: other tabs hear of it. */
const MOVED = 'atoll.moved';

/** Works in another organization from now on. Raises what the server says, and stays then. */
export async function workIn(organization: string, words: string): Promise<void> {
  await movePush(() => accountApi.choose(organization));
  await startOver(words);
}

/** Becomes a member by an invitation, and goes on in its organization. */
export async function acceptInvitation(secret: string): Promise<void> {
  const { name, organization_id: id } = await teamApi.accept(secret);
  await workIn(id, t`You are a member of ${name}.`);
}

/** Has this login be the person who runs the installation, and goes on as that person. */
export async function becomePerson(secret: string): Promise<void> {
  await movePush(() => accountApi.acceptLink(secret));
  await startOver(t`This login is you from now on.`);
}

/** Leaves an organization; those who are in another one go on there. */
export async function leave(organization: string, name: string): Promise<void> {
  await movePush(() => teamApi.leave(organization));
  await startOver(t`You left ${name}.`);
}

async function startOver(words: string): Promise<void> {
  sessionStorage.setItem(ARRIVED, words);
  localStorage.setItem(MOVED, String(Date.now()));
  await begin();
}

/** Takes everything off the screen, and loads the page again. */
async function begin(): Promise<void> {
  login.set({ is: 'checking' });
  forgetInvitation();
  forgetLink();
  forgetDrafts();
  document.title = titleOf(0, null);
  showBadge(0);
  const worker = await workerOf().catch(() => undefined);
  for (const shown of (await worker?.getNotifications()) ?? []) shown.close();
  location.assign('#/');
  location.reload();
}

/** Says how the page came to be here, once. */
export function welcome(): void {
  const words = sessionStorage.getItem(ARRIVED);
  sessionStorage.removeItem(ARRIVED);
  if (words !== null && login.get().is !== 'out') notify(words);
}

/** Starts over when another tab changed the organization; a guest's tab has a login of its own. */
export function followOtherTabs(): void {
  window.addEventListener('storage', ({ key }) => {
    if (key === MOVED && login.get().is === 'in') void begin();
  });
}
