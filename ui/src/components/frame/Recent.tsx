/** What happened lately to what the reader may see. */

import { useEffect, useState } from 'react';
import { overviewApi } from '../../api/overview';
import type { Envelope } from '../../api/types';
import { t } from '../../language/t';
import { age, tick } from '../../state/clock';
import { recentOf } from '../../state/overview/recent';
import { go } from '../../state/route';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';

/** Of these, those with words are shown. */
const LOOKED_AT = 300;
const SHOWN = 6;

export function Recent() {
  const [events, setEvents] = useState<readonly Envelope[]>([]);
  const now = useStore(tick);
  const list = useStore(sandboxes);
  // With the slow tick, and not with each event: a busy house has many a second.
  useEffect(() => {
    let gone = false;
    overviewApi.newestEvents(LOOKED_AT).then(
      (found) => {
        if (!gone) setEvents(found);
      },
      () => undefined,
    );
    return () => {
      gone = true;
    };
  }, [now]);
  const nameOf = (id: string): string | undefined =>
    list?.find(({ sandbox_id: one }) => one === id)?.name;
  const shown = recentOf(events, nameOf, SHOWN);
  if (shown.length === 0) return null;
  return (
    <section>
      <h2>{t`Lately`}</h2>
      <ol className="recent" aria-label={t`Recent events`}>
        {shown.map(({ id, at, subject, words, reason, sandbox }) => (
          <li key={id} className="recent-event">
            <span className="recent-words">
              {sandbox !== null && nameOf(sandbox) !== undefined ? (
                <button type="button" className="button-link" onClick={() => go(sandbox)}>
                  {subject}
                </button>
              ) : (
                <strong>{subject}</strong>
              )}{' '}
              {words}
              {reason !== null && <span className="quiet">: {reason}</span>}
            </span>
            <time className="row-age" dateTime={at}>
              {age(at, now)}
            </time>
          </li>
        ))}
      </ol>
    </section>
  );
}
