/**
 * What somebody may do by their role, so that the page offers nothing that would be refused. Pure.
 *
 * The server decides; this follows `domain/people/capability.py`. Without a team everything goes.
 */

import type { Sandbox } from '../../api/types';
import type { Member, Organization, OrgRole } from '../../api/team';

/** The team of the caller. */
export interface Team {
  readonly organization: Organization;
  /** All organizations that the caller may see. */
  readonly all: readonly Organization[];
  /** The caller's id among the members. */
  readonly me: string;
  readonly members: readonly Member[];
}

/** The roles, from the most to the least, in words. */
export const ROLES: readonly { value: OrgRole; words: string; note: string }[] = [
  { value: 'owner', words: 'Owner', note: 'Everything, owners included.' },
  { value: 'admin', words: 'Admin', note: 'Members, quotas and every shared sandbox, too.' },
  { value: 'member', words: 'Member', note: 'Makes sandboxes and works in shared ones.' },
  { value: 'viewer', words: 'Viewer', note: 'Watches shared sandboxes and reads their files.' },
];

export function roleName(role: OrgRole): string {
  return ROLES.find(({ value }) => value === role)?.words ?? role;
}

/** Whether they make sandboxes, use terminals and agents, and hold secrets. */
export function mayWork(team: Team | null): boolean {
  return team === null || team.organization.role !== 'viewer';
}

/** Whether they change members, invitations, service accounts and quotas. */
export function mayAdminister(team: Team): boolean {
  return team.organization.role === 'owner' || team.organization.role === 'admin';
}

/** Whether they stop, start, give and end this sandbox, and change its network and links. */
export function mayManage(team: Team | null, sandbox: Pick<Sandbox, 'owner'>): boolean {
  if (team === null) return true;
  return mayWork(team) && (sandbox.owner === team.me || mayAdminister(team));
}

/** The roles that they may give to this member; none where they may not change it. */
export function rolesFor(team: Team, member: Pick<Member, 'role' | 'kind'>): readonly OrgRole[] {
  if (!mayAdminister(team)) return [];
  if (team.organization.role !== 'owner' && member.role === 'owner') return [];
  const all = ROLES.map(({ value }) => value);
  const owners = team.organization.role === 'owner' && member.kind === 'adm';
  return owners ? all : all.filter((role) => role !== 'owner');
}

/** Whether they set the groups of this member: where a login provider says them, nobody does. */
export function maySetGroups(
  team: Team,
  member: Pick<Member, 'role' | 'kind' | 'groups_claimed'>,
): boolean {
  return !member.groups_claimed && rolesFor(team, member).length > 0;
}

/** The groups in a line of text. */
export function groupsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((one) => one !== '');
}

/** Whose sandbox it is; null where it is the caller's own, or there is no team. */
export function ownerOf(team: Team | null, sandbox: Pick<Sandbox, 'owner'>): string | null {
  if (team === null || sandbox.owner === team.me) return null;
  const owner = team.members.find(({ member_id: id }) => id === sandbox.owner);
  return owner?.name ?? 'a former member';
}

/** Members to whom a sandbox can be given. */
export function heirs(team: Team, owner: string): readonly Member[] {
  return team.members.filter((one) => one.role !== 'viewer' && one.member_id !== owner);
}
