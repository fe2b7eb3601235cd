/** How long a sandbox has still to live, and a way to give it longer. */

import { api } from '../../api/client';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { extensionsOf, type Span } from './lifetime';
import { keep } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';

function leftWords(left: number, soon: boolean): string {
  if (left <= 0) return t`time is up`;
  return soon ? t`ends soon: ${duration(left)} left` : t`${duration(left)} left`;
}

export function TimeLeft({ sandbox }: { readonly sandbox: Sandbox }) {
  const now = useStore(tick);
  const left = secondsUntil(sandbox.expires_at, now);
  const most = secondsUntil(sandbox.max_expires_at, now);
  const soon = sandbox.ends_soon;
  const fitting = extensionsOf(sandbox);
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
          {fitting.length > 0 && (
            <Extensions
              fitting={fitting}
              onChoose={(ttl) => {
                close();
                extend(sandbox.sandbox_id, ttl);
              }}
            />
          )}
          <p className="quiet">
            {fitting.length > 0
              ? t`At most ${duration(most)} from now, says its profile.`
              : t`This is the latest end that its profile allows: pull what you need of it.`}
          </p>
        </>
      )}
    </Pop>
  );
}

interface ExtensionsProps {
  readonly fitting: readonly Span[];
  readonly onChoose: (ttl: string) => void;
}

function Extensions({ fitting, onChoose }: ExtensionsProps) {
  return (
    <>
      <p>{t`Extend it by`}</p>
      <ul className="pop-choices">
        {fitting.map(({ ttl, words }) => (
          <li key={ttl}>
            <button type="button" className="button button-small" onClick={() => onChoose(ttl)}>
              {words}
            </button>
          </li>
        ))}
      </ul>
    </>
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
