/** The page behind an invitation to a team: who invites, to which one, as what; and in. */

import { useEffect, useState } from 'react';
import { Problem } from '../../api/call';
import { teamApi, type OfferedPlace } from '../../api/team';
import { duration, secondsUntil, tick } from '../../state/clock';
import { forgetInvitation } from '../../state/joining';
import { login, logOut } from '../../state/login';
import { useStore } from '../../state/store';
import { acceptInvitation } from '../../state/team/entering';
import { ROLES } from '../../state/team/rights';
import { Mark } from '../parts/icons';

export function Joining({ secret }: { readonly secret: string }) {
  const { offer, why, refuse } = useOffer(secret);
  const [busy, setBusy] = useState(false);

  function join(): void {
    setBusy(true);
    acceptInvitation(secret)
      .catch(refuse)
      .finally(() => setBusy(false));
  }

  if (why !== null) return <Refused why={why} />;
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{offer === null ? 'You are invited to a team' : titleOf(offer)}</h1>
        {offer !== null && <Offer offer={offer} />}
        <Identity />
        <div className="welcome-acts">
          <button
            type="button"
            className="button button-primary"
            disabled={busy || offer === null}
            onClick={join}
          >
            {offer === null ? 'Join' : `Join ${offer.organization}`}
          </button>
          <button type="button" className="button" onClick={forgetInvitation}>
            Not now
          </button>
        </div>
      </div>
    </main>
  );
}

function titleOf({ organization, invited_by: by }: OfferedPlace): string {
  return by === '' ? `You are invited to ${organization}` : `${by} invites you to ${organization}`;
}

function Offer({ offer }: { readonly offer: OfferedPlace }) {
  const now = useStore(tick);
  const role = ROLES.find(({ value }) => value === offer.role);
  return (
    <p>
      You join as <strong>{role?.words.toLowerCase()}</strong>. {role?.note} The invitation works
      once, for another {duration(secondsUntil(offer.expires_at, now))}.
    </p>
  );
}

/** Who joins by it: somebody may be logged in as another. */
function Identity() {
  const who = useStore(login);
  if (who.is !== 'in' && who.is !== 'newcomer') return null;
  return (
    <p className="quiet">
      You are logged in as <strong>{who.name}</strong>.{' '}
      <button type="button" className="button-link" onClick={() => void logOut()}>
        Log in as somebody else
      </button>
    </p>
  );
}

function Refused({ why }: { readonly why: string }) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>You cannot join by this</h1>
        <p className="welcome-why" role="alert">
          {why}
        </p>
        <div className="welcome-acts">
          <button type="button" className="button button-primary" onClick={forgetInvitation}>
            Go on to Atoll
          </button>
        </div>
      </div>
    </main>
  );
}

interface Found {
  readonly offer: OfferedPlace | null;
  /** Why nobody joins by the link; null while they may. */
  readonly why: string | null;
  readonly refuse: (reason: unknown) => void;
}

function useOffer(secret: string): Found {
  const [offer, setOffer] = useState<OfferedPlace | null>(null);
  const [why, setWhy] = useState<string | null>(null);
  const refuse = (reason: unknown): void => {
    if (!(reason instanceof Problem)) throw reason;
    // Whoever is logged out meanwhile sees the login screen.
    if (reason.status !== 401) setWhy(reason.message);
  };
  useEffect(() => {
    let gone = false;
    teamApi.offered(secret).then(
      (found) => {
        if (!gone) setOffer(found);
      },
      (reason: unknown) => {
        if (!gone) refuse(reason);
      },
    );
    return () => {
      gone = true;
    };
  }, [secret]);
  return { offer, why, refuse };
}
