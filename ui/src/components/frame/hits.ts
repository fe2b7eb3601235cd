/** Where a hit of the search leads, and how it is called. */

import type { Hit } from '../../api/overview';
import type { Command } from './command';
import type { IconName } from '../parts/icons';
import { t, worded } from '../../language/t';
import { go, goTo } from '../../state/route';

const KINDS = worded<Readonly<Record<Hit['kind'], { words: string; icon: IconName }>>>(() => ({
  sandbox: { words: t`Sandbox`, icon: 'terminal' },
  task: { words: t`Task`, icon: 'agent' },
  branch: { words: t`Branch`, icon: 'branch' },
  dashboard: { words: t`Dashboard`, icon: 'grid' },
  secret: { words: t`Secret`, icon: 'key' },
  member: { words: t`Member`, icon: 'person' },
  profile: { words: t`Profile`, icon: 'plus' },
  event: { words: t`Event`, icon: 'log' },
}));

/** What is done with a hit; null for one that leads nowhere. */
function wayOf(hit: Hit, onProfile: (profile: string) => void): (() => void) | null {
  const { kind, id, sandbox_id: sandbox } = hit;
  switch (kind) {
    case 'sandbox':
    case 'task':
    case 'branch':
      return () => go(sandbox ?? id);
    case 'dashboard':
      return () => goTo('dashboards', id);
    case 'secret':
      return () => goTo('secrets');
    case 'member':
      return () => goTo('team');
    case 'profile':
      return () => onProfile(id);
    case 'event':
      return sandbox === null ? null : () => go(sandbox, 'log');
  }
}

/** The hits as commands, without those that lead nowhere and those that are offered already. */
export function commandsOfHits(
  hits: readonly Hit[],
  offered: ReadonlySet<string>,
  onProfile: (profile: string) => void,
): readonly Command[] {
  return hits.flatMap((hit, index) => {
    const run = wayOf(hit, onProfile);
    if (run === null || (hit.kind === 'sandbox' && offered.has(`go ${hit.id}`))) return [];
    const { words, icon } = KINDS()[hit.kind];
    const note = [words, hit.text].filter((one) => one !== '').join(' · ');
    return [{ id: `hit ${index}`, words: hit.title, note, icon, run }];
  });
}
