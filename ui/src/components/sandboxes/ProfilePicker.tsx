/** The profiles that can be used here, as a group of radio cards. */

import type { Profile } from '../../api/types';
import { t } from '../../language/t';
import { Icon } from '../parts/icons';
import { Loading } from '../parts/States';
import { profileWords } from '../parts/words';
import { BlockedProfiles, isUsable } from './BlockedProfiles';

interface ProfilePickerProps {
  readonly profiles: readonly Profile[] | null;
  readonly chosen: string;
  readonly trouble: string | null;
  readonly onChoose: (id: string) => void;
}

export function ProfilePicker({ profiles, chosen, trouble, onChoose }: ProfilePickerProps) {
  return (
    <fieldset className="form-group">
      <legend>{t`Profile`}</legend>
      {trouble !== null && (
        <p className="field-trouble" role="alert">
          {trouble}
        </p>
      )}
      <div className="cards">
        {profiles === null && <Loading what={t`the profiles`} lines={2} />}
        {(profiles ?? []).filter(isUsable).map((profile) => (
          <label key={profile.id} className="card">
            <input
              type="radio"
              name="profile"
              checked={profile.id === chosen || profileWords(profile.id) === chosen}
              onChange={() => onChoose(profile.id)}
            />
            <span className="card-face">
              <span className="card-title">
                <Icon name={profile.agent == null ? 'terminal' : 'agent'} />
                {profileWords(profile.id)}
              </span>
              {profile.description !== undefined && profile.description !== '' && (
                <span className="card-note">{profile.description}</span>
              )}
            </span>
          </label>
        ))}
      </div>
      <BlockedProfiles profiles={profiles ?? []} />
    </fieldset>
  );
}
