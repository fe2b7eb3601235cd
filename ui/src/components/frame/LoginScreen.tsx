/** The way in by providers of identities, and back to where somebody was. */

import { t } from '../../language/t';
import { joining } from '../../state/team/joining';
import { linking } from '../../state/team/linking';
import { loginAddress, type Realm } from '../../state/realms';
import { hashOf, route } from '../../state/route';
import { useStore } from '../../state/store';
import { Mark } from '../parts/icons';

interface LoginScreenProps {
  readonly realms: readonly Realm[];
  readonly why: string | null;
  readonly ended: boolean;
}

export function LoginScreen({ realms, why, ended }: LoginScreenProps) {
  const invited = useStore(joining) !== null;
  const links = useStore(linking) !== null;
  const back = hashOf(useStore(route));
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{titleOf(invited, links, ended)}</h1>
        {why !== null && (
          <p className="welcome-why" role="alert">
            {why}
          </p>
        )}
        <p>{leadOf(invited, links, back)}</p>
        <ul className="welcome-realms" aria-label={t`Ways to log in`}>
          {realms.map((realm) => (
            <li key={realm.realm}>
              <a
                className={realms.length === 1 ? 'button button-primary' : 'button'}
                href={loginAddress(realm, back)}
              >
                {t`Continue with ${realm.name}`}
              </a>
            </li>
          ))}
        </ul>
        {realms.length === 0 && <p>{t`No provider is set up yet: ask whoever runs this Atoll.`}</p>}
        <p className="quiet">
          {t`Do you run this Atoll? On its machine, ${(<code>atoll login</code>)} prints a link for you.`}
        </p>
      </div>
    </main>
  );
}

function titleOf(invited: boolean, links: boolean, ended: boolean): string {
  if (invited) return t`You are invited to a team`;
  if (links) return t`Log in, and stay who you are`;
  return ended ? t`You are logged out` : t`Log in to Atoll`;
}

function leadOf(invited: boolean, links: boolean, back: string): string {
  if (invited) return t`Log in to see the invitation. Nothing is accepted by that.`;
  if (links) return t`Log in once at your provider. Then confirm that the login is you.`;
  if (back !== '#/') return t`Log in, and you are back where you were.`;
  return t`You log in with your organization. Atoll itself has no passwords.`;
}
