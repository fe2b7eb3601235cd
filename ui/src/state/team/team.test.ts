import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Member, Organization, OrgRole } from '../../api/team';
import { AREAS, areasOf, isReading } from './capabilities';
import {
  groupsIn,
  heirs,
  mayManage,
  maySetGroups,
  mayWork,
  ownerOf,
  rolesFor,
  type Team,
} from './rights';

const CONTRACT = readFileSync(
  new URL('../../../../src/atoll/domain/people/capability.py', import.meta.url),
  'utf8',
);

function member(id: string, role: OrgRole, kind: Member['kind'] = 'adm'): Member {
  return {
    member_id: id,
    name: id,
    role,
    kind,
    email: '',
    groups: [],
    groups_claimed: false,
    since: '',
  };
}

function teamAs(role: OrgRole): Team {
  const organization: Organization = {
    organization_id: 'personal',
    slug: 'acme',
    name: 'Acme',
    created_at: '2026-01-01T00:00:00Z',
    role,
  };
  const members = [member('me', role), member('ada', 'owner'), member('vic', 'viewer')];
  return { organization, all: [organization], me: 'me', members };
}

describe('capabilities that a token is given', () => {
  it('are all those of the contract but the installation’s and what only a profile gives', () => {
    const names = [...CONTRACT.matchAll(/^ {4}[A-Z_]+ = "([a-z]+\.[a-z]+)"/gm)].map(
      ([, one]) => one,
    );
    const offered = AREAS().flatMap(({ capabilities }) => capabilities);
    expect([...offered, 'sandbox.children', 'system.manage'].sort()).toEqual(names.sort());
  });

  it('are fewer for a lesser role', () => {
    const of = (role: OrgRole): readonly string[] =>
      areasOf(role).flatMap(({ capabilities }) => capabilities);
    expect(of('member')).not.toContain('org.manage');
    expect(of('member')).toContain('sandbox.create');
    expect(of('viewer').filter((one) => !isReading(one))).toEqual(['me.manage', 'token.manage']);
    expect(of('owner')).toEqual(of('admin'));
  });
});

describe('rights by role', () => {
  it('let one person without a team do everything', () => {
    expect(mayWork(null)).toBe(true);
    expect(mayManage(null, { owner: 'anybody' })).toBe(true);
    expect(ownerOf(null, { owner: 'anybody' })).toBeNull();
  });

  it('let owners and administrators manage what others own', () => {
    const may = (role: OrgRole, owner: string): boolean => mayManage(teamAs(role), { owner });
    expect(may('member', 'me')).toBe(true);
    expect(may('member', 'ada')).toBe(false);
    expect(may('admin', 'ada')).toBe(true);
    expect(may('viewer', 'me')).toBe(false);
  });

  it('let owners alone make owners, and never of a service account', () => {
    expect(rolesFor(teamAs('owner'), member('bob', 'member'))).toContain('owner');
    expect(rolesFor(teamAs('owner'), member('svc', 'member', 'atm'))).not.toContain('owner');
    expect(rolesFor(teamAs('admin'), member('bob', 'member'))).not.toContain('owner');
    expect(rolesFor(teamAs('admin'), member('ada', 'owner'))).toEqual([]);
    expect(rolesFor(teamAs('member'), member('bob', 'member'))).toEqual([]);
  });

  it('let administrators set groups, but those of a provider, and of owners', () => {
    const bob = member('bob', 'member');
    expect(maySetGroups(teamAs('admin'), bob)).toBe(true);
    expect(maySetGroups(teamAs('admin'), { ...bob, groups_claimed: true })).toBe(false);
    expect(maySetGroups(teamAs('admin'), member('ada', 'owner'))).toBe(false);
    expect(maySetGroups(teamAs('member'), bob)).toBe(false);
    expect(groupsIn(' dev, ops\n/acme/qa ')).toEqual(['dev', 'ops', '/acme/qa']);
    expect(groupsIn('  ')).toEqual([]);
  });

  it('name the owner of what is shared, and who may get it', () => {
    const team = teamAs('member');
    expect(ownerOf(team, { owner: 'me' })).toBeNull();
    expect(ownerOf(team, { owner: 'ada' })).toBe('ada');
    expect(ownerOf(team, { owner: 'gone' })).toBe('a former member');
    expect(heirs(team, 'ada').map(({ member_id: id }) => id)).toEqual(['me']);
  });
});
