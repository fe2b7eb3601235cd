/** The page before anybody is logged in: how to get a link. */

import { Mark } from './icons';

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
          <code>atoll up</code>
        </pre>
        <p className="quiet">
          It prints a link that works once. If Atoll is already running, that is fine: nothing is
          restarted, and no terminal is lost.
        </p>
      </div>
    </main>
  );
}
