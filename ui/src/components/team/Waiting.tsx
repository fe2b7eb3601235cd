/** What has no owner any more: administrators give sandboxes and dashboards to somebody. */

import { useEffect, useState } from 'react';
import { teamApi } from '../../api/team';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import type { Team } from '../../state/team/rights';
import { teamMoved } from '../../state/team/team';
import { GiveDialog, type Given } from './GiveDialog';

interface WaitingThing extends Given {
  /** What is said of it beside its end. */
  readonly state: string;
  readonly ends_at: string | null;
  readonly ends: string;
}

async function waitingSandboxes(organization: string): Promise<readonly WaitingThing[]> {
  const all = await teamApi.waiting(organization);
  return all.map(({ sandbox_id: id, retained_until: kept, expires_at: at, ...one }) => ({
    ...one,
    id,
    ends_at: kept ?? at,
    ends: t`it ends`,
  }));
}

async function waitingDashboards(organization: string): Promise<readonly WaitingThing[]> {
  const all = await teamApi.waitingDashboards(organization);
  return all.map(({ items, removed_at: at, ...one }) => ({
    ...one,
    state: `${items} ${items === 1 ? 'item' : 'items'}`,
    ends_at: at,
    ends: t`it is removed`,
    how: {
      give: (member: string) => teamApi.giveDashboard(one.id, member),
      words: t`It goes along with all that is on it and its history. Only they see it then.`,
    },
  }));
}

/** The sandboxes and dashboards of an organization that wait for a new owner. */
export function Waiting({ ours }: { readonly ours: Team }) {
  const organization = ours.organization.organization_id;
  return (
    <>
      <WaitingList {...{ organization }} things={t`Sandboxes`} load={waitingSandboxes} />
      <WaitingList {...{ organization }} things={t`Dashboards`} load={waitingDashboards} />
    </>
  );
}

interface WaitingListProps {
  readonly organization: string;
  readonly things: string;
  readonly load: (organization: string) => Promise<readonly WaitingThing[]>;
}

function WaitingList({ organization, things, load }: WaitingListProps) {
  const [list, setList] = useState<readonly WaitingThing[]>([]);
  const [giving, setGiving] = useState<WaitingThing | null>(null);
  const moved = useStore(teamMoved);
  const now = useStore(tick);
  useEffect(() => {
    load(organization).then(setList, notifyFailure(t`What waits for an owner could not be listed`));
  }, [load, organization, moved]);
  if (list.length === 0) return null;
  const title = t`${things} that wait for a new owner`;
  return (
    <section>
      <h2>{title}</h2>
      <ul className="secrets" aria-label={title}>
        {list.map((one) => (
          <li key={one.id} className="secret">
            <div className="secret-words">
              <p className="secret-name">{one.name}</p>
              <p className="quiet">
                {one.state}
                {one.ends_at !== null &&
                  ` · ${t`${duration(secondsUntil(one.ends_at, now))} until ${one.ends}`}`}
              </p>
            </div>
            <button
              type="button"
              className="button button-small"
              aria-label={t`Give ${one.name}`}
              onClick={() => setGiving(one)}
            >
              {t`Give…`}
            </button>
          </li>
        ))}
      </ul>
      {giving !== null && (
        <GiveDialog
          given={giving}
          onClose={() => setGiving(null)}
          onGiven={() => teamMoved.set((count) => count + 1)}
        />
      )}
    </section>
  );
}
