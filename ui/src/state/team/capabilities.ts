/** What a token may be allowed, by what it is about; the names of `domain/people/capability.py`. */

import type { OrgRole } from '../../api/team';

interface Area {
  readonly words: string;
  readonly capabilities: readonly string[];
}

export const AREAS: readonly Area[] = [
  { words: 'Sandboxes', capabilities: ['sandbox.read', 'sandbox.create', 'sandbox.manage'] },
  { words: 'Terminals', capabilities: ['terminal.watch', 'terminal.use'] },
  { words: 'Commands', capabilities: ['exec.use'] },
  { words: 'Files', capabilities: ['file.read', 'file.write'] },
  { words: 'Agents', capabilities: ['agent.read', 'agent.use', 'agent.install'] },
  { words: 'Recordings', capabilities: ['recording.read', 'recording.manage'] },
  { words: 'Repositories', capabilities: ['repository.read', 'repository.write'] },
  { words: 'Profiles', capabilities: ['profile.read', 'profile.manage'] },
  { words: 'Secrets', capabilities: ['secret.read', 'secret.manage'] },
  { words: 'Approvals', capabilities: ['approval.read', 'approval.decide'] },
  {
    words: 'Dashboards',
    capabilities: ['dashboard.read', 'dashboard.use', 'dashboard.manage'],
  },
  { words: 'Links', capabilities: ['share.manage'] },
  { words: 'Events', capabilities: ['event.read', 'webhook.manage'] },
  { words: 'Yourself', capabilities: ['me.manage', 'token.manage'] },
  { words: 'The organization', capabilities: ['org.read', 'org.manage', 'audit.read'] },
];

const ADMINISTRATORS = ['org.manage', 'audit.read', 'agent.install'];
const OF_VIEWERS = [
  'me.manage',
  'sandbox.read',
  'terminal.watch',
  'file.read',
  'agent.read',
  'recording.read',
  'repository.read',
  'profile.read',
  'event.read',
  'dashboard.read',
  'org.read',
  'token.manage',
  'approval.read',
];

/** The capabilities that somebody of this role has to give. Pure. */
export function areasOf(role: OrgRole): readonly Area[] {
  const has = (one: string): boolean => {
    if (role === 'viewer') return OF_VIEWERS.includes(one);
    return role !== 'member' || !ADMINISTRATORS.includes(one);
  };
  return AREAS.map(({ words, capabilities }) => ({
    words,
    capabilities: capabilities.filter(has),
  })).filter(({ capabilities }) => capabilities.length > 0);
}

/** Whether a capability only shows. Pure. */
export function isReading(capability: string): boolean {
  return capability.endsWith('.read') || capability === 'terminal.watch';
}
