/**
 * What somebody may do by their role, so that the page offers nothing that would be refused. Pure.
 *
 * The server decides; this follows `domain/people/capability.py`. Without a team everything goes.
 */

import type { Sandbox } from '../../api/types';
import type { Member, Organization, OrgRole } from '../../api/team';
import { t, worded } from '../../language/t';

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
export const ROLES = worded<readonly { value: OrgRole; words: string; note: string }[]>(() => [
  { value: 'owner', words: t`Owner`, note: t`Everything, owners included.` },
  { value: 'admin', words: t`Admin`, note: t`Members, quotas and every shared sandbox, too.` },
  { value: 'member', words: t`Member`, note: t`Makes sandboxes and works in shared ones.` },
  { value: 'viewer', words: t`Viewer`, note: t`Watches shared sandboxes and reads their files.` },
]);

export function roleName(role: OrgRole): string {
  return ROLES().find(({ value }) => value === role)?.words ?? role;
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

/** What somebody may do at one sandbox. */
export interface Rights {
  /** Use its terminals, files and agents. */
  readonly works: boolean;
  /** Stop, start, give and end it, and change its network, links and set-up. */
  readonly manages: boolean;
  /** Change what its agents may do: its owner alone, no administrator. */
  readonly owns: boolean;
}

export const NO_RIGHTS: Rights = { works: false, manages: false, owns: false };

/** The rights at a sandbox; one that is not known yet is nobody's own. */
export function rightsAt(team: Team | null, sandbox: Pick<Sandbox, 'owner'> | undefined): Rights {
  const works = mayWork(team);
  if (sandbox === undefined) return { works, manages: team === null, owns: team === null };
  const owns = team === null || sandbox.owner === team.me;
  return { works, manages: mayManage(team, sandbox), owns: works && owns };
}

/** Whether they install agents on the machine, and set what is the organization's. */
export function mayInstall(team: Team | null): boolean {
  return team === null || mayAdminister(team);
}

/** Whether they look over every sandbox, the usage and the audit log of the organization. */
export function mayOversee(team: Team | null): boolean {
  return team === null || mayAdminister(team);
}

/** The organization that the page works in: one person's home has one, too. */
export function organizationOf(team: Team | null): string {
  return team?.organization.organization_id ?? 'personal';
}

/** What somebody is called; an id that is nobody's here is said as it is. */
export function memberName(team: Team | null, id: string): string {
  if (team === null) return id === 'person' ? 'you' : id;
  return team.members.find(({ member_id: one }) => one === id)?.name ?? id;
}

/** Whether they change and remove a secret of this scope, which they see. */
export function mayChangeSecret(team: Team | null, scope: string): boolean {
  return scope !== 'organization' || mayInstall(team);
}

/** Whether it is the person who runs the installation: they stay an owner of its first
 *  organization. */
export function isInstallation({ organization }: Team, memberId: string): boolean {
  return memberId === 'person' && organization.organization_id === 'personal';
}

/** Why they cannot leave their organization; null where they can. */
export function stayWords(team: Team): string | null {
  if (isInstallation(team, team.me)) return t`You run this installation, and stay its owner.`;
  const owners = team.members.filter(({ role }) => role === 'owner');
  const last = team.organization.role === 'owner' && owners.length === 1;
  return last ? t`You are its last owner: make somebody else an owner to leave.` : null;
}

/** The roles that they may give to this member; none where they may not change it. */
export function rolesFor(
  team: Team,
  member: Pick<Member, 'member_id' | 'role' | 'kind'>,
): readonly OrgRole[] {
  if (!mayAdminister(team) || isInstallation(team, member.member_id)) return [];
  return rolesOf(team, member);
}

/** The roles that they may give to somebody who has this one. */
export function rolesOf(team: Team, member: Pick<Member, 'role' | 'kind'>): readonly OrgRole[] {
  if (team.organization.role !== 'owner' && member.role === 'owner') return [];
  const all = ROLES().map(({ value }) => value);
  const owners = team.organization.role === 'owner' && member.kind === 'adm';
  return owners ? all : all.filter((role) => role !== 'owner');
}

/** Whether they set the groups of this member: where a login provider says them, nobody does. */
export function maySetGroups(
  team: Team,
  member: Pick<Member, 'role' | 'kind' | 'groups_claimed'>,
): boolean {
  return !member.groups_claimed && mayAdminister(team) && rolesOf(team, member).length > 0;
}

/** The groups in a line of text. */
export function groupsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((one) => one !== '');
}

/** Whose sandbox it is; null where it is the caller's own, or there is no team. */
export function ownerOf(team: Team | null, sandbox: Pick<Sandbox, 'owner'>): string | null {
  if (team === null || sandbox.owner === team.me) return null;
  const owner = team.members.find(({ member_id: id }) => id === sandbox.owner);
  return owner?.name ?? t`a former member`;
}

/** Members to whom a sandbox can be given. */
export function heirs(team: Team, owner: string): readonly Member[] {
  return team.members.filter((one) => one.role !== 'viewer' && one.member_id !== owner);
}
