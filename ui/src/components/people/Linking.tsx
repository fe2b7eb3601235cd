/** The page behind a link of `atoll org link`: log in at a provider, and confirm who that is. */

import { useState } from 'react';
import { accountApi, type OwnLinkOffer } from '../../api/account';
import { Problem } from '../../api/call';
import { t } from '../../language/t';
import { forgetLink } from '../../state/team/linking';
import { logOut } from '../../state/login';
import { loadRealms, loginAddress, realms } from '../../state/realms';
import { useStore } from '../../state/store';
import { becomePerson } from '../../state/team/entering';
import { Mark } from '../parts/icons';
import { useAnswer } from '../parts/useAnswer';

/** What the server says to the person themselves, who has not logged in at a provider yet. */
const NOT_LOGGED_IN = 'not_logged_in';

/** What somebody is called who runs the installation and has no name of their own yet. */
const UNNAMED = 'person';

export function Linking({ secret }: { readonly secret: string }) {
  const { value: offer, problem } = useAnswer(lookAt, secret);
  const [refused, setRefused] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  function confirm(): void {
    setBusy(true);
    becomePerson(secret)
      .catch((reason: unknown) => {
        if (!(reason instanceof Problem)) throw reason;
        setRefused(reason.message);
      })
      .finally(() => setBusy(false));
  }

  if (problem instanceof Problem && problem.code === NOT_LOGGED_IN) return <LogIn />;
  const why = refused ?? (problem instanceof Problem ? problem.message : null);
  if (why !== null) return <Refused why={why} />;
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{titleOf(offer)}</h1>
        {offer !== null && <Offer offer={offer} />}
        <div className="welcome-acts">
          <button
            type="button"
            className="button button-primary"
            disabled={busy || offer === null}
            onClick={confirm}
          >
            {t`Yes, this is me`}
          </button>
          <button type="button" className="button" onClick={() => void logOut()}>
            {t`Log in as somebody else`}
          </button>
          <button type="button" className="button" onClick={forgetLink}>
            {t`Not now`}
          </button>
        </div>
      </div>
    </main>
  );
}

/** Asks who would be whom, and where anybody can log in. */
async function lookAt(secret: string): Promise<OwnLinkOffer> {
  await loadRealms();
  return accountApi.lookAtLink(secret);
}

function titleOf(offer: OwnLinkOffer | null): string {
  if (offer === null || offer.person === UNNAMED) return t`Do you run this Atoll?`;
  return t`Are you ${offer.person}?`;
}

function Offer({ offer }: { readonly offer: OwnLinkOffer }) {
  const login = (
    <strong>{offer.email === '' ? offer.name : `${offer.name}, ${offer.email}`}</strong>
  );
  return (
    <>
      <p>{t`You are logged in as ${login}.`}</p>
      <p>
        {t`If you go on, this login is the person who runs this Atoll: with all sandboxes, secrets, dashboards and tokens of theirs, and every right here.`}
      </p>
    </>
  );
}

/** For the person themselves, in the browser of their login link. */
function LogIn() {
  const { realms: all } = useStore(realms);
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{t`Log in, and stay who you are`}</h1>
        <p>{t`Log in once at your provider. Then confirm that the login is you.`}</p>
        <ul className="welcome-realms" aria-label={t`Ways to log in`}>
          {all.map((realm) => (
            <li key={realm.realm}>
              <a
                className={all.length === 1 ? 'button button-primary' : 'button'}
                href={loginAddress(realm, '')}
              >
                {t`Continue with ${realm.name}`}
              </a>
            </li>
          ))}
        </ul>
        <button type="button" className="button" onClick={forgetLink}>
          {t`Not now`}
        </button>
      </div>
    </main>
  );
}

function Refused({ why }: { readonly why: string }) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{t`This link does not work`}</h1>
        <p className="welcome-why" role="alert">
          {why}
        </p>
        <div className="welcome-acts">
          <button type="button" className="button button-primary" onClick={forgetLink}>
            {t`Go on to Atoll`}
          </button>
        </div>
      </div>
    </main>
  );
}
