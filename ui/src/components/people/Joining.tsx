/** The page behind an invitation to a team: who invites, to which one, as what; and in. */

import { useState } from 'react';
import { Problem } from '../../api/call';
import { teamApi, type OfferedPlace } from '../../api/team';
import { t } from '../../language/t';
import { duration, secondsUntil, tick } from '../../state/clock';
import { forgetInvitation } from '../../state/team/joining';
import { login, logOut } from '../../state/login';
import { loadRealms, isLocal, realms } from '../../state/realms';
import { useStore } from '../../state/store';
import { acceptInvitation } from '../../state/team/entering';
import { ROLES } from '../../state/team/rights';
import { Mark } from '../parts/icons';
import { useAnswer } from '../parts/useAnswer';

export function Joining({ secret }: { readonly secret: string }) {
  const { value: offer, problem } = useAnswer(lookAt, secret);
  const closed = isLocal(useStore(realms));
  const [refused, setRefused] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const why = refused ?? (problem === null ? null : whyOf(problem));

  function join(): void {
    setBusy(true);
    acceptInvitation(secret)
      .catch((reason: unknown) => setRefused(whyOf(reason)))
      .finally(() => setBusy(false));
  }

  if (why !== null) return <Refused why={why} />;
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{offer === null ? t`You are invited to a team` : titleOf(offer)}</h1>
        {offer !== null && <Offer offer={offer} />}
        {offer !== null && closed ? <Closed /> : <Identity />}
        <div className="welcome-acts">
          <button
            type="button"
            className="button button-primary"
            disabled={busy || offer === null || closed}
            onClick={join}
          >
            {offer === null ? t`Join` : t`Join ${offer.organization}`}
          </button>
          <button type="button" className="button" onClick={forgetInvitation}>
            {t`Not now`}
          </button>
        </div>
      </div>
    </main>
  );
}

/** Asks what is offered, and whether anybody can log in to take it. */
async function lookAt(secret: string): Promise<OfferedPlace> {
  const [offer] = await Promise.all([teamApi.offered(secret), loadRealms()]);
  return offer;
}

/** What somebody is called who runs the installation and has no name of their own yet. */
const UNNAMED = 'person';

function titleOf({ organization, invited_by: by }: OfferedPlace): string {
  return by === '' || by === UNNAMED
    ? t`You are invited to ${organization}`
    : t`${by} invites you to ${organization}`;
}

function Offer({ offer }: { readonly offer: OfferedPlace }) {
  const now = useStore(tick);
  const role = ROLES().find(({ value }) => value === offer.role);
  return (
    <p>
      {t`You join as ${(<strong>{role?.words.toLowerCase()}</strong>)}. ${role?.note} The invitation works once, for another ${duration(secondsUntil(offer.expires_at, now))}.`}
    </p>
  );
}

/** For whoever runs an Atoll in which nobody else can log in. */
function Closed() {
  return (
    <p>
      {t`You run this Atoll, and the invitation is for somebody else. Nobody else can log in here yet: set up a login provider (${(<code>docs/run/sign-in.md</code>)}).`}
    </p>
  );
}

/** Who joins by it: somebody may be logged in as another. */
function Identity() {
  const who = useStore(login);
  if (who.is !== 'in' && who.is !== 'newcomer') return null;
  return (
    <p className="quiet">
      {t`You are logged in as ${(<strong>{who.name}</strong>)}.`}{' '}
      <button type="button" className="button-link" onClick={() => void logOut()}>
        {t`Log in as somebody else`}
      </button>
    </p>
  );
}

function Refused({ why }: { readonly why: string }) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{t`You cannot join by this`}</h1>
        <p className="welcome-why" role="alert">
          {why}
        </p>
        <div className="welcome-acts">
          <button type="button" className="button button-primary" onClick={forgetInvitation}>
            {t`Go on to Atoll`}
          </button>
        </div>
      </div>
    </main>
  );
}

/** Why nobody joins by the link; null for what the login screen says better. */
function whyOf(reason: unknown): string | null {
  if (!(reason instanceof Problem)) throw reason;
  return reason.status === 401 ? null : reason.message;
}
