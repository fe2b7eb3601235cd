/** The profiles that cannot be used here, apart from the others, each with the reason. */

import type { Profile } from '../../api/types';
import { t } from '../../language/t';
import { profileWords } from '../parts/words';

export function isUsable({ obstacle }: Profile): boolean {
  return obstacle == null;
}

export function BlockedProfiles({ profiles }: { readonly profiles: readonly Profile[] }) {
  const blocked = profiles.filter((one) => !isUsable(one));
  if (blocked.length === 0) return null;
  return (
    <details className="composer-more">
      <summary>{t`Not ready here: ${blocked.map(({ id }) => profileWords(id)).join(', ')}`}</summary>
      <ul className="composer-blocked" aria-label={t`Profiles that cannot be used here`}>
        {blocked.map(({ id, obstacle }) => (
          <li key={id} className="blocked">
            <strong>{profileWords(id)}</strong>
            <span className="blocked-why">{obstacle}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
