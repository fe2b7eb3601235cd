/** What most tasks leave as it is: profile, mode, start of the branch, network, life. */

import type { Profile } from '../../api/types';
import { plural, t } from '../../language/t';
import { fittingLife, livesOf } from '../sandboxes/lifetime';
import { Choice, Line } from '../parts/Field';
import { BlockedProfiles, isUsable } from '../sandboxes/BlockedProfiles';
import { profileWords } from '../parts/words';
import type { TaskDraft } from './draft';

interface MoreProps {
  readonly draft: TaskDraft;
  readonly profiles: readonly Profile[];
  readonly change: (part: Partial<TaskDraft>) => void;
}

export function MoreFields({ draft, profiles, change }: MoreProps) {
  const usable = profiles.filter(isUsable);
  const named = (wanted: string): Profile | undefined =>
    profiles.find(({ id }) => id === (wanted || 'profile.shell'));
  return (
    <details className="composer-more">
      <summary>{t`More`}</summary>
      <div className="form-row">
        <Choice
          label={t`Profile`}
          value={draft.profile}
          onChange={(profile) => change({ profile, ttl: fittingLife(draft.ttl, named(profile)) })}
        >
          <option value="">{t`shell`}</option>
          {usable
            .filter(({ id }) => id !== 'profile.shell')
            .map(({ id }) => (
              <option key={id} value={id}>
                {profileWords(id)}
              </option>
            ))}
        </Choice>
        <Choice
          label={t`The agent works`}
          value={draft.mode === 'tui' ? 'tui' : draft.asks ? 'ask' : 'machine'}
          onChange={(value) =>
            change({ mode: value === 'tui' ? 'tui' : 'machine', asks: value === 'ask' })
          }
        >
          <option value="tui">{t`at a terminal`}</option>
          <option value="machine">{t`with cards, without asking`}</option>
          <option value="ask">{t`with cards, asking before it acts`}</option>
        </Choice>
        <Choice
          label={t`Network`}
          value={draft.network}
          onChange={(network) => change({ network })}
        >
          <option value="">{t`As the profile says`}</option>
          <option value="none">{t`None`}</option>
          <option value="limited">{t`Limited to the profile’s list`}</option>
          <option value="host-only">{t`Chosen ports of this machine`}</option>
          <option value="full">{t`Any public address`}</option>
        </Choice>
        <Choice label={t`Lives for`} value={draft.ttl} onChange={(ttl) => change({ ttl })}>
          <option value="">{t`As the profile says`}</option>
          {livesOf(named(draft.profile)).map(({ ttl, words }) => (
            <option key={ttl} value={ttl}>
              {words}
            </option>
          ))}
        </Choice>
        <Choice
          label={t`Queue it while`}
          value={draft.maxWorking}
          onChange={(maxWorking) => change({ maxWorking })}
        >
          <option value="">{t`as the server says`}</option>
          {[1, 2, 3, 5, 8].map((most) => (
            <option key={most} value={most}>
              {plural(most, { one: '# is at work', other: '# are at work' })}
            </option>
          ))}
        </Choice>
        <Line
          label={t`From branch`}
          hint={t`Left empty: the default`}
          value={draft.fromBranch}
          onChange={(fromBranch) => change({ fromBranch })}
        />
      </div>
      <BlockedProfiles profiles={profiles} />
    </details>
  );
}
