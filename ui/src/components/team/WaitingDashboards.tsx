/** Dashboards whose owner is gone and that nobody else edits: administrators give them away. */

import { useEffect, useState } from 'react';
import { teamApi, type WaitingDashboard } from '../../api/team';
import { notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import type { Team } from '../../state/team/rights';
import { teamMoved } from '../../state/team/team';
import { GiveDialog } from './GiveDialog';

const TITLE = 'Dashboards that wait for a new owner';

export function WaitingDashboards({ ours }: { readonly ours: Team }) {
  const organization = ours.organization.organization_id;
  const [list, setList] = useState<readonly WaitingDashboard[]>([]);
  const [giving, setGiving] = useState<WaitingDashboard | null>(null);
  const moved = useStore(teamMoved);
  const now = useStore(tick);
  useEffect(() => {
    teamApi
      .waitingDashboards(organization)
      .then(setList, notifyFailure('What waits for an owner could not be listed'));
  }, [organization, moved]);
  if (list.length === 0) return null;
  return (
    <section>
      <h2>{TITLE}</h2>
      <ul className="secrets" aria-label={TITLE}>
        {list.map((one) => (
          <li key={one.id} className="secret">
            <div className="secret-words">
              <p className="secret-name">{one.name}</p>
              <p className="quiet">
                {one.items} {one.items === 1 ? 'item' : 'items'}
                {one.removed_at !== null &&
                  ` · ${duration(secondsUntil(one.removed_at, now))} until it is removed`}
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
          sandbox={{ sandbox_id: giving.id, name: giving.name, owner: giving.owner }}
          how={{
            give: (member) => teamApi.giveDashboard(giving.id, member),
            words: 'It goes along with all that is on it and its history. Only they see it then.',
          }}
          onClose={() => setGiving(null)}
          onGiven={() => teamMoved.set((count) => count + 1)}
        />
      )}
    </section>
  );
}
