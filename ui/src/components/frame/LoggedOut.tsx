/** The pages before anybody is logged in, and after a guest's visit: how to get a link. */

import { t } from '../../language/t';
import { joining } from '../../state/team/joining';
import { logOut } from '../../state/login';
import { realms } from '../../state/realms';
import { useStore } from '../../state/store';
import { Mark } from '../parts/icons';
import { LoginScreen } from './LoginScreen';

interface LoggedOutProps {
  readonly why: string | null;
  /** Somebody was logged in before. */
  readonly ended: boolean;
}

export function LoggedOut({ why, ended }: LoggedOutProps) {
  const { mode, realms: offered } = useStore(realms);
  const invited = useStore(joining) !== null;
  if (mode === 'oidc') return <LoginScreen realms={offered} {...{ why, ended }} />;
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{invited ? t`You are invited to a team` : t`Log in to Atoll`}</h1>
        {invited && (
          <p>
            {t`Nobody else can log in to this Atoll yet: it has no login provider. Ask whoever invited you to set one up (${(<code>docs/run/sign-in.md</code>)}), and open the link again then.`}
          </p>
        )}
        {why !== null && (
          <p className="welcome-why" role="alert">
            {why}
          </p>
        )}
        <p>
          {invited && t`Do you run this Atoll?`}{' '}
          {t`Atoll has no passwords. On the machine that runs it, ask for a login link and open it in this browser:`}
        </p>
        <pre className="command">
          <span aria-hidden="true">$ </span>
          <code>atoll login</code>
        </pre>
        <p className="quiet">
          {t`The link works once. If Atoll is not running, ${(<code>atoll up</code>)} starts it and prints one too; no terminal is lost by either.`}
        </p>
      </div>
    </main>
  );
}

/** For somebody who logged in at a provider and is a member of nothing yet. */
export function Newcomer({ name }: { readonly name: string }) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{t`You have no team yet`}</h1>
        <p>
          {t`You are logged in as ${(<strong>{name}</strong>)}, and a member of no organization. Ask its administrator for an invitation, and open its link in this browser.`}
        </p>
        <div className="welcome-acts">
          <button type="button" className="button" onClick={() => void logOut()}>
            {t`Log out`}
          </button>
        </div>
      </div>
    </main>
  );
}

/** For a guest, who has no machine to ask for a link, but a host. */
export function VisitOver() {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{t`Your access has ended`}</h1>
        <p>
          {t`The link you came by was revoked or has expired, or you left. Ask whoever invited you for a new one.`}
        </p>
      </div>
    </main>
  );
}
