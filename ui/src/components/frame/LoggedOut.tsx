/** The pages before anybody is logged in, and after a guest's visit: how to get a link. */

import { Mark } from '../parts/icons';

export function LoggedOut({ why }: { readonly why: string | null }) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>Log in to Atoll</h1>
        {why !== null && (
          <p className="welcome-why" role="alert">
            {why}
          </p>
        )}
        <p>
          Atoll has no passwords. On the machine that runs it, ask for a login link and open it in
          this browser:
        </p>
        <pre className="command">
          <span aria-hidden="true">$ </span>
          <code>atoll login</code>
        </pre>
        <p className="quiet">
          The link works once. If Atoll is not running, <code>atoll up</code> starts it and prints
          one too; no terminal is lost by either.
        </p>
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
        <h1>Your access has ended</h1>
        <p>
          The link you came by was revoked or has expired, or you left. Ask whoever invited you for
          a new one.
        </p>
      </div>
    </main>
  );
}
