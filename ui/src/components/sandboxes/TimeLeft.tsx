/** How long a sandbox has still to live, and a way to give it longer. */

import { api } from '../../api/client';
import type { Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { keep } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';

const CHOICES = worded(() => [
  { ttl: '1h', words: t`1 hour more` },
  { ttl: '4h', words: t`4 hours more` },
  { ttl: '12h', words: t`12 hours more` },
  { ttl: '1d', words: t`1 day more` },
]);

function leftWords(left: number, soon: boolean): string {
  if (left <= 0) return t`time is up`;
  return soon ? t`ends soon: ${duration(left)} left` : t`${duration(left)} left`;
}

export function TimeLeft({ sandbox }: { readonly sandbox: Sandbox }) {
  const now = useStore(tick);
  const left = secondsUntil(sandbox.expires_at, now);
  const most = secondsUntil(sandbox.max_expires_at, now);
  const soon = sandbox.ends_soon;
  const summary = (
    <>
      <Icon name="clock" />
      {leftWords(left, soon)}
    </>
  );
  return (
    <Pop summary={summary} tone={soon ? 'fact-warn' : ''}>
      {(close) => (
        <>
          <p>{t`Extend it by`}</p>
          <ul className="pop-choices">
            {CHOICES().map(({ ttl, words }) => (
              <li key={ttl}>
                <button
                  type="button"
                  className="button button-small"
                  onClick={() => {
                    close();
                    extend(sandbox.sandbox_id, ttl);
                  }}
                >
                  {words}
                </button>
              </li>
            ))}
          </ul>
          <p className="quiet">{t`At most ${duration(most)} from now, says its profile.`}</p>
        </>
      )}
    </Pop>
  );
}

function extend(id: string, ttl: string): void {
  api.extend(id, ttl).then(
    (next) => {
      keep(next);
      const left = secondsUntil(next.expires_at, Date.now());
      notify(t`${next.name} now has ${duration(left)} left.`);
    },
    notifyFailure(t`Its time could not be extended`),
  );
}
