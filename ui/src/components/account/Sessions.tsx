/** Where one is logged in, and logging out there. */

import { useState } from 'react';
import { accountApi, type Session } from '../../api/account';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { agoWords, tick } from '../../state/clock';
import { logOut, logOutEverywhere } from '../../state/login';
import { useStore } from '../../state/store';
import { Confirm } from '../parts/Dialog';
import { Listed, useListed } from '../parts/Listed';
import { Empty } from '../parts/States';

/** The same function at each showing. */
const logins = () => accountApi.sessions();

export function Sessions() {
  const asked = useListed(logins);
  const [everywhere, setEverywhere] = useState(false);

  async function end(session: Session): Promise<void> {
    if (session.current) return logOut();
    try {
      await accountApi.endSession(session.id);
      asked.reload();
      notify(t`Logged out there. What it had open closes within seconds.`);
    } catch (reason) {
      notifyFailure(t`Not logged out`)(reason);
    }
  }

  return (
    <section>
      <div className="team-head">
        <h2>{t`Where you are logged in`}</h2>
        <button type="button" className="button button-small" onClick={() => setEverywhere(true)}>
          {t`Log out everywhere…`}
        </button>
      </div>
      <Listed
        asked={asked}
        what={t`logins`}
        empty={<Empty>{t`You are logged in nowhere else.`}</Empty>}
      >
        {(list) => (
          <ul className="secrets" aria-label={t`Logins`}>
            {list.map((session) => (
              <Row key={session.id} session={session} onEnd={() => void end(session)} />
            ))}
          </ul>
        )}
      </Listed>
      {everywhere && (
        <Confirm
          title={t`Log out everywhere?`}
          action={t`Log out everywhere`}
          onClose={() => setEverywhere(false)}
          onConfirm={() => {
            logOutEverywhere().catch(notifyFailure(t`Not logged out`));
          }}
        >
          <p>
            {t`Every browser and command line of yours is logged out, this one too. Sandboxes and tokens go on.`}
          </p>
        </Confirm>
      )}
    </section>
  );
}

interface RowProps {
  readonly session: Session;
  readonly onEnd: () => void;
}

function Row({ session, onEnd }: RowProps) {
  const now = useStore(tick);
  const { agent, address, current, created_at: since, last_seen_at: used } = session;
  const words = browserWords(agent);
  return (
    <li className="secret">
      <div className="secret-words">
        <p className="secret-name">
          {words}
          {current && <span className="badge">{t`here`}</span>}
        </p>
        <p className="quiet">
          {address !== '' && `${t`from ${address}`} · `}
          {t`since ${new Date(since).toLocaleDateString()}`}
          {!current && ` · ${t`used ${agoWords(used, now)}`}`}
        </p>
      </div>
      <button
        type="button"
        className="button button-small"
        aria-label={current ? t`Log out here` : t`Log out there: ${words} from ${address}`}
        onClick={onEnd}
      >
        {current ? t`Log out` : t`Log out there`}
      </button>
    </li>
  );
}

/** A browser's name for itself in words: `Firefox on Linux`. */
export function browserWords(agent: string): string {
  const found = (names: readonly (readonly [string, string])[]): string =>
    names.find(([mark]) => agent.includes(mark))?.[1] ?? '';
  const browser = found(BROWSERS) || t`A browser`;
  const system = found(SYSTEMS);
  return system === '' ? browser : t`${browser} on ${system}`;
}

/** The first mark that is there counts: browsers carry the names of others, too. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const;
