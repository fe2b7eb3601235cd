/** Who may see and edit a dashboard: the team, people, groups, and links. */

import { useCallback, useEffect, useState } from 'react';
import { Dialog } from '../../components/parts/Dialog';
import { LocalOnly, OnceShown } from '../../components/parts/OnceShown';
import { Segments } from '../../components/parts/Segments';
import { t, worded } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { team } from '../../state/team/team';
import type { Team } from '../../state/team/rights';
import type { Role } from '../sync/wire';
import type { OpenDashboard } from '../view/useDashboard';
import { managesBoard } from './manages';
import { dashboardsApi, type Access, type MadeLink, type ViewerLink } from './api';

interface ShareBoardProps {
  readonly id: string;
  readonly open: OpenDashboard;
  readonly onClose: () => void;
}

const ROLES = worded<readonly { readonly value: Role; readonly words: string }[]>(() => [
  { value: 'editor', words: t`Can edit` },
  { value: 'viewer', words: t`Can view` },
]);

export function ShareBoard({ id, open, onClose }: ShareBoardProps) {
  const { dashboard, reload } = open;
  const ours = useStore(team);
  const owns = managesBoard(dashboard, ours);

  async function setScope(scope: 'private' | 'shared'): Promise<void> {
    try {
      await dashboardsApi.change(id, { scope });
      reload();
    } catch (reason) {
      notifyFailure(t`It could not be changed`)(reason);
    }
  }

  return (
    <Dialog title={t`Share`} onClose={onClose} wide>
      <div className="form">
        {ours !== null && (
          <Segments
            legend={t`Who can see it`}
            choices={[
              { value: 'private', words: t`Only those below` },
              { value: 'shared', words: t`Everybody of ${ours.organization.name}` },
            ]}
            chosen={dashboard?.scope ?? null}
            disabled={!owns}
            onChoose={(scope) => void setScope(scope)}
          />
        )}
        {ours !== null && owns && <People id={id} ours={ours} me={open.me} />}
        {owns ? (
          <Links id={id} />
        ) : (
          <p className="quiet">{t`Its owner decides who sees it, and makes links.`}</p>
        )}
      </div>
    </Dialog>
  );
}

interface PeopleProps {
  readonly id: string;
  readonly ours: Team;
  readonly me: string;
}

/** People and groups with a role of their own. */
function People({ id, ours, me }: PeopleProps) {
  const [list, setList] = useState<readonly Access[]>([]);
  const [subject, setSubject] = useState('');
  const load = useCallback(() => {
    dashboardsApi.people(id).then(setList, notifyFailure(t`The people could not be listed`));
  }, [id]);
  useEffect(load, [load]);
  const groups = [...new Set(ours.members.flatMap((member) => member.groups))].sort();
  const taken = new Set(list.map((one) => one.subject));
  const members = ours.members.filter((one) => one.member_id !== me && !taken.has(one.member_id));

  async function set(who: string, role: Role | null): Promise<void> {
    try {
      if (role === null) await dashboardsApi.removePerson(id, who);
      else await dashboardsApi.setPerson(id, who, role);
      load();
    } catch (reason) {
      notifyFailure(t`It could not be changed`)(reason);
    }
  }

  return (
    <section>
      <h3 className="form-title">{t`People and groups`}</h3>
      <ul className="lines">
        {list.map((one) => (
          <li key={one.subject}>
            <span className="lines-words">{nameOfSubject(one, ours)}</span>
            {one.role === 'owner' ? (
              <span className="quiet">{t`Owner`}</span>
            ) : (
              <>
                <select
                  aria-label={t`Role of ${nameOfSubject(one, ours)}`}
                  value={one.role}
                  onChange={({ target }) => void set(one.subject, target.value as Role)}
                >
                  {ROLES().map(({ value, words }) => (
                    <option key={value} value={value}>
                      {words}
                    </option>
                  ))}
                </select>
                <button
                  type="button"
                  className="button button-small"
                  onClick={() => void set(one.subject, null)}
                >
                  {t`Remove`}
                </button>
              </>
            )}
          </li>
        ))}
      </ul>
      <div className="share-add">
        <select
          aria-label={t`Person or group to add`}
          value={subject}
          onChange={({ target }) => setSubject(target.value)}
        >
          <option value="">{t`Somebody of the team…`}</option>
          {members.map((member) => (
            <option key={member.member_id} value={member.member_id}>
              {member.name}
            </option>
          ))}
          {groups
            .filter((group) => !taken.has(`group:${group}`))
            .map((group) => (
              <option key={group} value={`group:${group}`}>
                {t`Group ${group}`}
              </option>
            ))}
        </select>
        {ROLES().map(({ value, words }) => (
          <button
            key={value}
            type="button"
            className="button button-small"
            disabled={subject === ''}
            onClick={() => {
              setSubject('');
              void set(subject, value);
            }}
          >
            {words}
          </button>
        ))}
      </div>
    </section>
  );
}

function nameOfSubject({ subject }: Access, ours: Team): string {
  if (subject.startsWith('group:')) return t`Group ${subject.slice('group:'.length)}`;
  const member = ours.members.find((one) => one.member_id === subject);
  return member?.name ?? t`A former member`;
}

const TTLS = worded(() => [
  { value: '1h', words: t`1 hour` },
  { value: '1d', words: t`1 day` },
  { value: '7d', words: t`7 days` },
  { value: '30d', words: t`30 days` },
]);

const MAY = worded<readonly { readonly value: 'look' | 'edit'; readonly words: string }[]>(() => [
  { value: 'look', words: t`Can view` },
  { value: 'edit', words: t`Can edit` },
]);

/** Links by which anybody may look, or edit what guests may. */
function Links({ id }: { readonly id: string }) {
  const [list, setList] = useState<readonly ViewerLink[] | null>(null);
  const [made, setMade] = useState<MadeLink | null>(null);
  const [ttl, setTtl] = useState('1d');
  const [watches, setWatches] = useState(false);
  const [may, setMay] = useState<'look' | 'edit'>('look');
  const edits = may === 'edit';
  const now = useStore(tick);
  const load = useCallback(() => {
    dashboardsApi.links(id).then(setList, notifyFailure(t`The links could not be listed`));
  }, [id]);
  useEffect(load, [load]);

  async function make(): Promise<void> {
    try {
      setMade(await dashboardsApi.makeLink(id, { ttl, terminals: watches, edits }));
      load();
    } catch (reason) {
      notifyFailure(t`No link could be made`)(reason);
    }
  }

  async function revoke(link: ViewerLink): Promise<void> {
    try {
      await dashboardsApi.revokeLink(id, link.share_id);
      if (made?.share_id === link.share_id) setMade(null);
      load();
      notify(t`Revoked. Its guests are disconnected.`);
    } catch (reason) {
      notifyFailure(t`The link could not be revoked`)(reason);
    }
  }

  if (list === null) return null;
  return (
    <section>
      <h3 className="form-title">{t`Links`}</h3>
      <Segments
        legend={t`Whoever has the link, without an account`}
        choices={MAY()}
        chosen={may}
        onChoose={setMay}
      />
      <p className="quiet">
        {edits
          ? t`Guests write notes, arrange and comment. They start no agents and open no terminals.`
          : t`Guests see this dashboard. They change nothing.`}
      </p>
      <label className="check">
        <input
          type="checkbox"
          checked={watches}
          onChange={({ target }) => setWatches(target.checked)}
        />
        {edits
          ? t`They may watch its terminals, and type when given control`
          : t`They may watch its terminals`}
      </label>
      <div className="share-make">
        <label className="share-ttl">
          {t`For`}
          <select value={ttl} onChange={({ target }) => setTtl(target.value)}>
            {TTLS().map(({ value, words }) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <span className="spring" />
        <button type="button" className="button" onClick={() => void make()}>
          {t`Make a link`}
        </button>
      </div>
      {made !== null && (
        <OnceShown label={t`Link to this dashboard`} value={made.link}>
          <p>{t`This link is shown once. Send it only to people who may see all that is here.`}</p>
          {made.local_only && <LocalOnly />}
        </OnceShown>
      )}
      <ul className="lines">
        {list.map((link) => (
          <li key={link.share_id}>
            <span className="lines-words">
              {linkWords(link)}
              <span className="quiet">
                {t`${duration(secondsUntil(link.expires_at, now))} left`}
                {link.guests > 0 && ` · ${link.guest_names.join(', ')}`}
              </span>
            </span>
            <button type="button" className="button button-small" onClick={() => void revoke(link)}>
              {t`Revoke`}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function linkWords({ edits, terminals }: ViewerLink): string {
  if (edits) return terminals ? t`Can edit, with terminals` : t`Can edit`;
  return terminals ? t`Can view, with terminals` : t`Can view`;
}
