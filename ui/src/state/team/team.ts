/** The caller's organization, kept fresh by its events; null for a person who has no team. */

import { teamApi } from '../../api/team';
import type { Me } from '../../api/types';
import { loadRealms } from '../realms';
import { Store } from '../store';
import type { Team } from './rights';

export const team = new Store<Team | null>(null);

/** Counts what changed about members, invitations and quotas, so that who shows them looks again. */
export const teamMoved = new Store(0);

/** Set in this browser once its person had a team: then the page waits for the role before it shows
 *  controls. Anybody else waits for nothing. */
const HAD_TEAM = 'atoll.team';

export function hadTeam(): boolean {
  return localStorage.getItem(HAD_TEAM) !== null;
}

let caller: Pick<Me, 'id' | 'org_id'> | null = null;

/** Says who is logged in. */
export function setCaller(me: Pick<Me, 'id' | 'org_id'>): void {
  if (caller?.id !== me.id || caller.org_id !== me.org_id) team.set(null);
  caller = me;
}

/** Fetches the organization and its members. */
export async function loadTeam(): Promise<void> {
  const me = caller;
  if (me === null) return;
  const [found] = await Promise.all([teamApi.organizations(), loadRealms()]);
  const all = found.filter(({ created_at: since }) => since !== null);
  const organization = all.find(({ organization_id: id }) => id === me.org_id) ?? null;
  if (organization === null) {
    localStorage.removeItem(HAD_TEAM);
    team.set(null);
    return;
  }
  const members = await teamApi.members(organization.organization_id);
  if (me !== caller) return;
  localStorage.setItem(HAD_TEAM, 'yes');
  team.set({ organization, all, me: me.id, members });
  teamMoved.set((now) => now + 1);
}

/** Whether an event may have changed what is known of the team. */
export function movesTeam(stream: string): boolean {
  return stream.startsWith('org:');
}
