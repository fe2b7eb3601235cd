/** What a token may be allowed, by what it is about; the names of `domain/people/capability.py`. */

import type { OrgRole } from '../../api/team';
import { t, worded } from '../../language/t';

interface Area {
  readonly words: string;
  readonly capabilities: readonly string[];
}

export const AREAS = worded<readonly Area[]>(() => [
  { words: t`Sandboxes`, capabilities: ['sandbox.read', 'sandbox.create', 'sandbox.manage'] },
  { words: t`Terminals`, capabilities: ['terminal.watch', 'terminal.use'] },
  { words: t`Commands`, capabilities: ['exec.use'] },
  { words: t`Files`, capabilities: ['file.read', 'file.write'] },
  { words: t`Agents`, capabilities: ['agent.read', 'agent.use', 'agent.install'] },
  { words: t`Recordings`, capabilities: ['recording.read', 'recording.manage'] },
  { words: t`Repositories`, capabilities: ['repository.read', 'repository.write'] },
  { words: t`Profiles`, capabilities: ['profile.read', 'profile.manage'] },
  { words: t`Secrets`, capabilities: ['secret.read', 'secret.manage'] },
  { words: t`Approvals`, capabilities: ['approval.read', 'approval.decide'] },
  {
    words: t`Dashboards`,
    capabilities: ['dashboard.read', 'dashboard.use', 'dashboard.manage'],
  },
  { words: t`Links`, capabilities: ['share.manage'] },
  { words: t`Events`, capabilities: ['event.read', 'webhook.manage'] },
  { words: t`Yourself`, capabilities: ['me.manage', 'token.manage'] },
  { words: t`The organization`, capabilities: ['org.read', 'org.manage', 'audit.read'] },
]);

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
  return AREAS()
    .map(({ words, capabilities }) => ({
      words,
      capabilities: capabilities.filter(has),
    }))
    .filter(({ capabilities }) => capabilities.length > 0);
}

/** Whether a capability only shows. Pure. */
export function isReading(capability: string): boolean {
  return capability.endsWith('.read') || capability === 'terminal.watch';
}
