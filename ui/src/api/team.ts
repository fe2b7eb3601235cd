/** The calls about organizations, their members and what they may hold. */

import { call, sandboxAt } from './call';
import type { Sandbox, Schemas } from './types';

export type Organization = Schemas['OrganizationView'];
export type Member = Schemas['MemberView'];
export type OrgRole = Schemas['OrgRole'];
/** An invitation; `MadeInvitation` has its secret, which is returned once. */
export type OrgInvitation = Schemas['OrgInvitationView'];
export type MadeInvitation = Schemas['MadeOrgInvitationView'];
/** What an invitation's secret offers, before it is accepted. */
export interface OfferedPlace {
  readonly organization: string;
  readonly role: OrgRole;
  readonly invited_by: string;
  readonly expires_at: string;
}
export type HeldQuota = Schemas['HeldQuotaView'];
export type Quantities = Schemas['QuantitiesView'];
export type QuotaBody = Schemas['QuotaBody'];
export type WaitingDashboard = Schemas['WaitingDashboardView'];
export type WaitingSandbox = Schemas['WaitingSandboxView'];

const at = (organization: string): string => `v1/organizations/${encodeURIComponent(organization)}`;
const memberAt = (organization: string, member: string): string =>
  `${at(organization)}/members/${encodeURIComponent(member)}`;

export const teamApi = {
  async organizations(): Promise<readonly Organization[]> {
    const all = (await call('GET', 'v1/organizations')) as Schemas['OrganizationList'];
    return all.organizations;
  },
  async members(organization: string): Promise<readonly Member[]> {
    const all = (await call('GET', `${at(organization)}/members`)) as Schemas['MemberList'];
    return all.members;
  },
  /** What is left out stays. */
  changeMember: (organization: string, member: string, change: Schemas['MemberBody']) =>
    call('PATCH', memberAt(organization, member), change) as Promise<Member>,
  removeMember: (organization: string, member: string) =>
    call('DELETE', memberAt(organization, member)),
  leave: (organization: string) => call('POST', `${at(organization)}/leave`),

  async invitations(organization: string): Promise<readonly OrgInvitation[]> {
    const all = await call('GET', `${at(organization)}/invitations`);
    return (all as Schemas['OrgInvitationList']).invitations;
  },
  invite: (organization: string, body: Schemas['InviteBody']) =>
    call('POST', `${at(organization)}/invitations`, body) as Promise<MadeInvitation>,
  uninvite: (organization: string, invitation: string) =>
    call('DELETE', `${at(organization)}/invitations/${encodeURIComponent(invitation)}`),

  /** What an invitation's secret offers. */
  offered: (secret: string) =>
    call('POST', 'v1/invitations/look', { secret }) as Promise<OfferedPlace>,
  accept: (secret: string) =>
    call('POST', 'v1/invitations/accept', { secret }) as Promise<Organization>,

  addAccount: (organization: string, name: string, role: OrgRole) =>
    call('POST', `${at(organization)}/service-accounts`, { name, role }) as Promise<Member>,
  removeAccount: (organization: string, account: string) =>
    call('DELETE', `${at(organization)}/service-accounts/${encodeURIComponent(account)}`),

  async waiting(organization: string): Promise<readonly WaitingSandbox[]> {
    const all = await call('GET', `${at(organization)}/waiting-sandboxes`);
    return (all as Schemas['WaitingSandboxList']).sandboxes;
  },
  async waitingDashboards(organization: string): Promise<readonly WaitingDashboard[]> {
    const all = await call('GET', `${at(organization)}/waiting-dashboards`);
    return (all as Schemas['WaitingDashboardList']).dashboards;
  },
  giveDashboard: (dashboard: string, member: string) =>
    call('POST', `v1/dashboards/${encodeURIComponent(dashboard)}/owner`, { member }),
  give: (sandbox: string, member: string) =>
    call('POST', `${sandboxAt(sandbox)}/owner`, { member }) as Promise<Sandbox>,

  /** The organization's quota and the caller's. */
  async ownQuotas(): Promise<readonly HeldQuota[]> {
    return ((await call('GET', 'v1/quota')) as Schemas['QuotaList']).quotas;
  },
  /** The organization's quota and those of members that have one. */
  async quotas(organization: string): Promise<readonly HeldQuota[]> {
    return ((await call('GET', `${at(organization)}/quotas`)) as Schemas['QuotaList']).quotas;
  },
  /** Replaces a quota; `member` null is the organization's. */
  setQuota(organization: string, member: string | null, body: QuotaBody): Promise<HeldQuota> {
    const whose = member === null ? '' : `/${encodeURIComponent(member)}`;
    return call('PUT', `${at(organization)}/quotas${whose}`, body) as Promise<HeldQuota>;
  },
};
