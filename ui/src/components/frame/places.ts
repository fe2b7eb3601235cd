/** The places that the rail leads to, and to whom. */

import { t, worded } from '../../language/t';
import type { PlainPage } from '../../state/route';
import { mayOversee, mayWork, type Team } from '../../state/team/rights';

import type { IconName } from '../parts/icons';

export interface Place {
  readonly page: PlainPage;
  readonly icon: IconName;
  readonly words: string;
  readonly key?: string;
}

const PLACES = worded<readonly Place[]>(() => [
  { page: 'inbox', icon: 'inbox', words: t`Inbox`, key: 'I' },
  { page: 'terminals', icon: 'grid', words: t`Terminals`, key: 'T' },
  { page: 'dashboards', icon: 'board', words: t`Dashboards`, key: 'D' },
  { page: 'workers', icon: 'agent', words: t`Workers` },
  { page: 'secrets', icon: 'key', words: t`Secrets and approvals` },
  { page: 'notifications', icon: 'bell', words: t`Notifications` },
  { page: 'admin', icon: 'shield', words: t`Administration`, key: 'A' },
]);

/** Places with what members have and viewers have not. */
const OF_MEMBERS: readonly PlainPage[] = ['secrets', 'workers'];

/** The places of a member of this team, or of one's own home. */
export function offeredPlaces(ours: Team | null): readonly Place[] {
  return PLACES().filter(({ page }) =>
    page === 'admin' ? mayOversee(ours) : mayWork(ours) || !OF_MEMBERS.includes(page),
  );
}
