/** What most tasks leave as it is: profile, mode, start of the branch, network, life. */

import type { ReactNode } from 'react';
import type { Profile } from '../../api/types';
import { Field } from '../parts/Field';
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
  return (
    <details className="composer-more">
      <summary>More</summary>
      <div className="form-row">
        <Choice label="Profile" value={draft.profile} onChange={(profile) => change({ profile })}>
          <option value="">shell</option>
          {usable
            .filter(({ id }) => id !== 'profile.shell')
            .map(({ id }) => (
              <option key={id} value={id}>
                {profileWords(id)}
              </option>
            ))}
        </Choice>
        <Choice
          label="The agent works"
          value={draft.mode === 'tui' ? 'tui' : draft.asks ? 'ask' : 'machine'}
          onChange={(value) =>
            change({ mode: value === 'tui' ? 'tui' : 'machine', asks: value === 'ask' })
          }
        >
          <option value="tui">at a terminal</option>
          <option value="machine">with cards, without asking</option>
          <option value="ask">with cards, asking before it acts</option>
        </Choice>
        <Choice label="Network" value={draft.network} onChange={(network) => change({ network })}>
          <option value="">As the profile says</option>
          <option value="none">None</option>
          <option value="limited">Limited to the profile’s list</option>
          <option value="full">Any public address</option>
        </Choice>
        <Choice label="Lives for" value={draft.ttl} onChange={(ttl) => change({ ttl })}>
          <option value="">As the profile says</option>
          <option value="4h">4 hours</option>
          <option value="1d">1 day</option>
        </Choice>
        <Choice
          label="Queue it while"
          value={draft.maxWorking}
          onChange={(maxWorking) => change({ maxWorking })}
        >
          <option value="">as the server says</option>
          {[1, 2, 3, 5, 8].map((most) => (
            <option key={most} value={most}>
              {most === 1 ? '1 is at work' : `${most} are at work`}
            </option>
          ))}
        </Choice>
        <Field label="From branch" hint="Left empty: the default" trouble={null}>
          {(props) => (
            <input
              {...props}
              autoComplete="off"
              spellCheck={false}
              value={draft.fromBranch}
              onChange={(event) => change({ fromBranch: event.target.value })}
            />
          )}
        </Field>
      </div>
      <BlockedProfiles profiles={profiles} />
    </details>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly children: ReactNode;
}

function Choice({ label, value, onChange, children }: ChoiceProps) {
  return (
    <Field label={label} trouble={null}>
      {(props) => (
        <select {...props} value={value} onChange={(event) => onChange(event.target.value)}>
          {children}
        </select>
      )}
    </Field>
  );
}
