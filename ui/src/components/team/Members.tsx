/** The people of a team, with roles and groups. */

import { useState } from 'react';
import { teamApi, type Member, type OrgRole } from '../../api/team';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import {
  isInstallation,
  maySetGroups,
  roleName,
  rolesFor,
  type Team,
} from '../../state/team/rights';
import { loadTeam } from '../../state/team/team';
import { Avatar } from '../parts/Avatar';
import { Confirm } from '../parts/Dialog';
import { GroupsDialog } from './GroupsDialog';

export function Members({ ours }: { readonly ours: Team }) {
  const people = ours.members.filter(({ kind }) => kind === 'adm');
  return (
    <section>
      <h2>
        {t`Members`} <span className="quiet">{people.length}</span>
      </h2>
      <ul className="secrets" aria-label={t`Members`}>
        {people.map((member) => (
          <MemberRow key={member.member_id} {...{ ours, member }} />
        ))}
      </ul>
    </section>
  );
}

interface RowProps {
  readonly ours: Team;
  readonly member: Member;
}

function MemberRow({ ours, member }: RowProps) {
  const { member_id: id, name, email } = member;
  const runs = isInstallation(ours, id) ? t`runs this installation` : '';
  const notes = [runs, email, groupWords(member)].filter((one) => one !== '');
  return (
    <li className="secret">
      <Avatar name={name} principal={id} />
      <div className="secret-words">
        <p className="secret-name">
          {name}
          {id === ours.me && <span className="badge">{t`you`}</span>}
        </p>
        {notes.length > 0 && <p className="quiet">{notes.join(' · ')}</p>}
      </div>
      <MemberActs {...{ ours, member }} />
    </li>
  );
}

/** The groups of a member in a line; empty for none. */
export function groupWords({ groups, groups_claimed: claimed }: Member): string {
  if (groups.length === 0) return '';
  const words = groups.map((one) => `#${one}`).join(' ');
  return claimed ? t`${words} (from the login provider)` : words;
}

/** A member's role, and for administrators the ways to change or end it. */
export function MemberActs({ ours, member }: RowProps) {
  const roles = rolesFor(ours, member);
  const changes = roles.length > 0 && member.member_id !== ours.me;
  return (
    <div className="secret-acts">
      {!changes && <span className="quiet">{roleName(member.role)}</span>}
      {changes && <RoleChoice {...{ ours, member, roles }} />}
      {maySetGroups(ours, member) && <GroupsButton {...{ ours, member }} />}
      {changes && <RemoveButton {...{ ours, member }} />}
    </div>
  );
}

function RoleChoice({ ours, member, roles }: RowProps & { readonly roles: readonly OrgRole[] }) {
  return (
    <select
      aria-label={t`Role of ${member.name}`}
      value={member.role}
      onChange={(event) => {
        const role = roles.find((one) => one === event.target.value);
        if (role !== undefined) void change(ours, member, role);
      }}
    >
      {roles.map((role) => (
        <option key={role} value={role}>
          {roleName(role)}
        </option>
      ))}
    </select>
  );
}

function GroupsButton({ ours, member }: RowProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="button button-small"
        aria-label={t`Groups of ${member.name}`}
        onClick={() => setOpen(true)}
      >
        {t`Groups…`}
      </button>
      {open && <GroupsDialog {...{ ours, member }} onClose={() => setOpen(false)} />}
    </>
  );
}

function RemoveButton({ ours, member }: RowProps) {
  const [removing, setRemoving] = useState(false);
  return (
    <>
      <button
        type="button"
        className="button button-small button-destroy"
        aria-label={t`Remove ${member.name}`}
        onClick={() => setRemoving(true)}
      >
        {t`Remove`}
      </button>
      {removing && (
        <Confirm
          title={t`Remove ${member.name}?`}
          action={t`Remove`}
          danger
          onClose={() => setRemoving(false)}
          onConfirm={() => void remove(ours, member)}
        >
          <p>
            {t`What they have open closes within seconds. Their secrets, links, tokens and approvals end. Their sandboxes stop, keep their files, and wait here for a new owner. Their dashboards go to whoever edits them, or wait here, too.`}
          </p>
        </Confirm>
      )}
    </>
  );
}

async function change(ours: Team, member: Member, role: OrgRole): Promise<void> {
  try {
    await teamApi.changeMember(ours.organization.organization_id, member.member_id, { role });
    notify(t`${member.name} is ${roleName(role).toLowerCase()} now.`);
    await loadTeam();
  } catch (reason) {
    notifyFailure(t`The role was not changed`)(reason);
  }
}

async function remove(ours: Team, member: Member): Promise<void> {
  const organization = ours.organization.organization_id;
  try {
    if (member.kind === 'adm') await teamApi.removeMember(organization, member.member_id);
    else await teamApi.removeAccount(organization, member.member_id);
    notify(t`${member.name} was removed.`);
    await loadTeam();
  } catch (reason) {
    notifyFailure(t`Not removed`)(reason);
  }
}
