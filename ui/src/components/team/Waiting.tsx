/** Sandboxes whose owner is gone: administrators give them to somebody, or open them. */

import { useEffect, useState } from 'react';
import { teamApi, type WaitingSandbox } from '../../api/team';
import { notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import type { Team } from '../../state/team/rights';
import { teamMoved } from '../../state/team/team';
import { GiveDialog } from './GiveDialog';

export function Waiting({ ours }: { readonly ours: Team }) {
  const organization = ours.organization.organization_id;
  const [list, setList] = useState<readonly WaitingSandbox[]>([]);
  const [giving, setGiving] = useState<WaitingSandbox | null>(null);
  const moved = useStore(teamMoved);
  const now = useStore(tick);
  useEffect(() => {
    teamApi
      .waiting(organization)
      .then(setList, notifyFailure('What waits for an owner could not be listed'));
  }, [organization, moved]);
  if (list.length === 0) return null;
  return (
    <section>
      <h2>Sandboxes that wait for a new owner</h2>
      <ul className="secrets" aria-label="Sandboxes that wait for a new owner">
        {list.map((one) => (
          <li key={one.sandbox_id} className="secret">
            <div className="secret-words">
              <p className="secret-name">{one.name}</p>
              <p className="quiet">
                {one.state} · {duration(secondsUntil(one.retained_until ?? one.expires_at, now))}{' '}
                until it ends
              </p>
            </div>
            <button
              type="button"
              className="button button-small"
              aria-label={`Give ${one.name}`}
              onClick={() => setGiving(one)}
            >
              Give…
            </button>
          </li>
        ))}
      </ul>
      {giving !== null && (
        <GiveDialog
          sandbox={giving}
          onClose={() => setGiving(null)}
          onGiven={() => teamMoved.set((count) => count + 1)}
        />
      )}
    </section>
  );
}
