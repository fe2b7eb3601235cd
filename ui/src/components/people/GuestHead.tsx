/** The line above what a guest sees: where they are, what their link allows, and the way out. */

import type { GuestAccess } from '../../api/types';
import { t } from '../../language/t';
import { duration, secondsUntil, tick } from '../../state/clock';
import { logOut } from '../../state/login';
import { useStore } from '../../state/store';
import { Avatar } from '../parts/Avatar';
import { Mark } from '../parts/icons';

interface GuestHeadProps {
  readonly name: string;
  readonly access: GuestAccess;
  readonly over: boolean;
  /** The name of what the link opens; null where that says it itself. */
  readonly place: string | null;
}

export function GuestHead({ name, access, over, place }: GuestHeadProps) {
  return (
    <header className="guest-head">
      <Mark />
      {place !== null && <h1>{place}</h1>}
      {over ? <Ended inviter={access.inviter} /> : <Allowed access={access} />}
      <span className="spring" />
      <Avatar name={name} principal={name} />
      <span className="guest-name">{name}</span>
      {!over && (
        <button type="button" className="button button-small" onClick={() => void logOut()}>
          {t`Leave`}
        </button>
      )}
    </header>
  );
}

function Allowed({ access }: { readonly access: GuestAccess }) {
  const now = useStore(tick);
  return (
    <span className="quiet wide-only">
      {t`${mayWords(access)} · ${duration(secondsUntil(access.expires_at, now))} left`}
    </span>
  );
}

function mayWords({ recording_id: recording, dashboard_id: dashboard, role }: GuestAccess): string {
  if (dashboard !== null) return role === 'viewer' ? t`You may look` : t`You may edit`;
  if (recording !== null) return t`You may play this recording`;
  return role === 'viewer' ? t`You may watch` : t`You may watch and ask to type`;
}

function Ended({ inviter }: { readonly inviter: string }) {
  return (
    <span className="guest-ended" role="status">
      {t`This link has ended. Ask ${inviter === '' ? t`whoever invited you` : inviter} for a new one.`}
    </span>
  );
}
