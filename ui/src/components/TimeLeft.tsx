/** How long a sandbox has still to live, and a way to give it longer. */

import { useRef } from 'react';
import { api } from '../api/client';
import type { Sandbox } from '../api/types';
import { notify, notifyFailure } from '../state/announce';
import { duration, secondsUntil, tick } from '../state/clock';
import { keep } from '../state/sandboxes';
import { useStore } from '../state/store';
import { Icon } from './icons';

const CHOICES = [
  { ttl: '1h', words: '1 hour from now' },
  { ttl: '4h', words: '4 hours from now' },
  { ttl: '12h', words: '12 hours from now' },
  { ttl: '1d', words: '1 day from now' },
];
const SOON_SECONDS = 15 * 60;

export function TimeLeft({ sandbox }: { readonly sandbox: Sandbox }) {
  const now = useStore(tick);
  const pop = useRef<HTMLDetailsElement>(null);
  const left = sandbox.expires_at === null ? 0 : secondsUntil(sandbox.expires_at, now);
  const most = sandbox.max_expires_at === null ? null : secondsUntil(sandbox.max_expires_at, now);

  function extend(ttl: string): void {
    pop.current?.removeAttribute('open');
    api.extend(sandbox.sandbox_id, ttl).then((next) => {
      keep(next);
      if (next.expires_at !== null) {
        notify(
          `${next.name} now lives for ${duration(secondsUntil(next.expires_at, Date.now()))}.`,
        );
      }
    }, notifyFailure('Its time could not be extended'));
  }

  return (
    <details className="pop" ref={pop}>
      <summary className={left < SOON_SECONDS ? 'fact fact-warn' : 'fact'}>
        <Icon name="clock" />
        {left > 0 ? `${duration(left)} left` : 'time is up'}
      </summary>
      <div className="pop-body">
        <p>Let it live until</p>
        <ul className="pop-choices">
          {CHOICES.map(({ ttl, words }) => (
            <li key={ttl}>
              <button type="button" className="button button-small" onClick={() => extend(ttl)}>
                {words}
              </button>
            </li>
          ))}
        </ul>
        {most !== null && <p className="quiet">At most {duration(most)} more, says its profile.</p>}
      </div>
    </details>
  );
}
