/** Every control that changes something, against the contract of the server: its permission in
 *  `openapi.json`, the capabilities of a role, and whose sandbox it is. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Member, Organization, OrgRole } from '../../api/team';
import {
  isInstallation,
  mayAdminister,
  mayChangeSecret,
  mayInstall,
  mayWork,
  rightsAt,
  rolesFor,
  stayWords,
  type Team,
} from './rights';

const read = (path: string): string =>
  readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');

const CONTRACT = read('src/atoll/domain/people/capability.py');
const { paths } = JSON.parse(read('docs/openapi.json')) as {
  paths: Record<string, Record<string, { 'x-permission'?: string }>>;
};

/** Whom the services let through, beside the permission: anybody who sees the sandbox, whoever may
 *  manage it (`check_may_manage`), or its owner alone (`_expect_owner` of the runtime). */
type Whose = 'any' | 'managed' | 'owned';

const SANDBOX = '/v1/sandboxes/{sandbox}';
const TERMINAL = `${SANDBOX}/terminals/{terminal}`;

const CONTROLS: readonly (readonly [control: string, operation: string, whose: Whose])[] = [
  // The head of a sandbox, its menus and the palette.
  ['Stop', `POST ${SANDBOX}/stop`, 'managed'],
  ['Start', `POST ${SANDBOX}/start`, 'managed'],
  ['Recreate', `POST ${SANDBOX}/recreate`, 'managed'],
  ['Destroy', `POST ${SANDBOX}/destroy`, 'managed'],
  ['Keep this one', `POST ${SANDBOX}/destroy`, 'managed'],
  ['Fork', `POST ${SANDBOX}/fork`, 'any'],
  ['Take a snapshot', `POST ${SANDBOX}/snapshots`, 'managed'],
  ['Restore', `POST ${SANDBOX}/restore`, 'managed'],
  ['Give', `POST ${SANDBOX}/owner`, 'managed'],
  ['1 hour more', `POST ${SANDBOX}/extend_ttl`, 'managed'],
  ['network', `PUT ${SANDBOX}/network`, 'managed'],
  ['Pull', `POST ${SANDBOX}/pulls`, 'managed'],
  ['Run the set-up', `POST ${SANDBOX}/setup`, 'managed'],
  ['Start the task anyway', `POST ${SANDBOX}/task/begin`, 'managed'],
  // Terminals.
  ['Terminal', `POST ${SANDBOX}/terminals`, 'any'],
  ['Split right', `POST ${SANDBOX}/terminals`, 'any'],
  ['Rename', `PATCH ${TERMINAL}`, 'any'],
  ['Size', `PATCH ${TERMINAL}`, 'any'],
  ['Close', `DELETE ${TERMINAL}`, 'any'],
  ['Share', `POST ${SANDBOX}/shares`, 'managed'],
  ['Drop files', `PUT ${SANDBOX}/files/content`, 'any'],
  // Recordings.
  ['Record this terminal', `POST ${TERMINAL}/recording`, 'any'],
  ['Stop recording', `DELETE ${TERMINAL}/recording`, 'any'],
  ['Remove a recording', `DELETE ${SANDBOX}/recordings/{recording}`, 'any'],
  // Agents.
  ['Pause', `POST ${TERMINAL}/agent`, 'any'],
  ['Type anyway', `POST ${TERMINAL}/agent`, 'owned'],
  ['Model', `PATCH ${SANDBOX}/agents/{agent}/settings`, 'owned'],
  ['Ask', `POST ${TERMINAL}/ask`, 'any'],
  ['Send the comments', `POST ${TERMINAL}/ask`, 'any'],
  ['Answer', `POST ${TERMINAL}/cards/{card}/answer`, 'any'],
  // Changes.
  ['Commit', `POST ${SANDBOX}/commit`, 'any'],
  ['Discard', `POST ${SANDBOX}/changes/discard`, 'any'],
  ['Back to before it', `POST ${SANDBOX}/checkpoints/{number}/restore`, 'any'],
];

/** Those about no sandbox, and what the page asks before it shows them. */
const OTHERS: readonly (readonly [string, string, (team: Team) => boolean])[] = [
  ['New sandbox', 'POST /v1/sandboxes', mayWork],
  ['Answers of the inbox', 'POST /v1/inbox/{item}/answer', mayWork],
  ['Set a secret', 'POST /v1/secrets', mayWork],
  ['Approve a project', 'POST /v1/projects/decision', mayWork],
  ['Install an agent', 'POST /v1/agent-catalogue/{agent}/install', mayInstall],
  ['Invite', 'POST /v1/organizations/{organization}/invitations', mayAdminister],
  ['Quota', 'PUT /v1/organizations/{organization}/quotas', mayAdminister],
  ['Groups', 'PATCH /v1/organizations/{organization}/members/{member}', mayAdminister],
  ['Service account', 'POST /v1/organizations/{organization}/service-accounts', mayAdminister],
];

const ROLES: readonly OrgRole[] = ['owner', 'admin', 'member', 'viewer'];

function permissionOf(operation: string): string {
  const [method = '', path = ''] = operation.split(' ');
  const found = paths[path]?.[method.toLowerCase()]?.['x-permission'];
  if (found === undefined) throw new Error(`${operation} is not in the contract`);
  return found;
}

/** The names of the contract, each with its permission string. */
const NAMES = new Map(
  [...CONTRACT.matchAll(/^ {4}([A-Z_]+) = "([a-z]+\.[a-z]+)"/gm)].map(
    ([, name = '', value = '']) => [name, value] as const,
  ),
);

/** The permissions that a definition of the contract names. */
function listedIn(definition: RegExp): readonly string[] {
  const text = definition.exec(CONTRACT)?.[1] ?? '';
  return [...text.matchAll(/Capability\.([A-Z_]+)/g)].map(([, one = '']) => NAMES.get(one) ?? '');
}

/** The capabilities of a role, as `capability.py` has them. */
function capabilitiesOf(role: OrgRole): ReadonlySet<string> {
  if (role === 'viewer') return new Set(listedIn(/^_VIEWER = ([^]*?)^\)/m));
  const lacks = ['system.manage', ...(role === 'member' ? listedIn(/^_MEMBER = (.*)$/m) : [])];
  return new Set([...NAMES.values()].filter((one) => !lacks.includes(one)));
}

function teamAs(role: OrgRole, ...others: Member[]): Team {
  const organization: Organization = {
    organization_id: 'personal',
    slug: 'acme',
    name: 'Acme',
    created_at: '2026-01-01T00:00:00Z',
    role,
  };
  return { organization, all: [organization], me: 'me', members: [member('me', role), ...others] };
}

function member(id: string, role: OrgRole): Member {
  return {
    ...{ member_id: id, name: id, role, kind: 'adm', email: '' },
    ...{ groups: [], groups_claimed: false, since: '' },
  };
}

/** Whether the server does it, for a sandbox that the caller sees. */
function serverLets(role: OrgRole, operation: string, whose: Whose, own: boolean): boolean {
  const has = capabilitiesOf(role);
  if (!has.has(permissionOf(operation))) return false;
  return whose === 'any' || own || (whose === 'managed' && has.has('org.manage'));
}

const RIGHT = { any: 'works', managed: 'manages', owned: 'owns' } as const;

it('the contract is read', () => {
  const counts = ROLES.map((role) => capabilitiesOf(role).size);
  expect(counts).toEqual([NAMES.size - 1, NAMES.size - 1, NAMES.size - 4, 13]);
});

describe('a control is offered where the server does what it asks, and nowhere else', () => {
  it.each(CONTROLS)('%s', (_, operation, whose) => {
    for (const role of ROLES) {
      for (const owner of ['me', 'ada']) {
        const offered = rightsAt(teamAs(role), { owner })[RIGHT[whose]];
        const does = serverLets(role, operation, whose, owner === 'me');
        expect(`${role} at ${owner}’s: ${offered}`).toBe(`${role} at ${owner}’s: ${does}`);
      }
    }
  });

  it.each(OTHERS)('%s', (_, operation, offers) => {
    for (const role of ROLES) {
      const does = capabilitiesOf(role).has(permissionOf(operation));
      expect(`${role}: ${offers(teamAs(role))}`).toBe(`${role}: ${does}`);
    }
  });

  it('and everything to one person without a team', () => {
    expect(Object.values(rightsAt(null, { owner: 'person' }))).toEqual([true, true, true]);
    expect(Object.values(rightsAt(null, undefined))).toEqual([true, true, true]);
    expect([mayInstall(null), mayChangeSecret(null, 'organization')]).toEqual([true, true]);
  });
});

describe('what no role allows', () => {
  it('is to change the organization’s secrets without administering it', () => {
    expect(mayChangeSecret(teamAs('member'), 'organization')).toBe(false);
    expect(mayChangeSecret(teamAs('member'), 'person')).toBe(true);
    expect(mayChangeSecret(teamAs('admin'), 'organization')).toBe(true);
  });

  it('is to change the person who runs the installation, there and nowhere else', () => {
    const ours = teamAs('owner', member('person', 'owner'));
    expect(rolesFor(ours, member('person', 'owner'))).toEqual([]);
    expect(isInstallation(ours, 'person')).toBe(true);
    const other = { ...ours, organization: { ...ours.organization, organization_id: 'org_2' } };
    expect(rolesFor(other, member('person', 'owner'))).not.toEqual([]);
  });

  it('is to leave as the last owner', () => {
    expect(stayWords(teamAs('owner'))).toContain('last owner');
    expect(stayWords(teamAs('owner', member('ada', 'owner')))).toBeNull();
    expect(stayWords(teamAs('member', member('ada', 'owner')))).toBeNull();
    expect(stayWords({ ...teamAs('owner'), me: 'person' })).toContain('run this installation');
  });
});
