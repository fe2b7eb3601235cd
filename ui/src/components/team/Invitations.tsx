/** Invitations to a team: make a link, see which can still be accepted, revoke. */

import { useEffect, useState } from 'react';
import { Problem } from '../../api/call';
import { teamApi, type MadeInvitation, type OrgInvitation, type OrgRole } from '../../api/team';
import { t, worded } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { isLocal, realms } from '../../state/realms';
import { useStore } from '../../state/store';
import { roleName, ROLES, rolesOf, type Team } from '../../state/team/rights';
import { teamMoved } from '../../state/team/team';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';
import { Icon } from '../parts/icons';
import { LocalOnly, OnceShown } from '../parts/OnceShown';

export function Invitations({ ours }: { readonly ours: Team }) {
  const organization = ours.organization.organization_id;
  const [list, setList] = useState<readonly OrgInvitation[]>([]);
  const [making, setMaking] = useState(false);
  const moved = useStore(teamMoved);
  const now = useStore(tick);

  useEffect(() => {
    teamApi
      .invitations(organization)
      .then(setList, notifyFailure(t`The invitations could not be listed`));
  }, [organization, moved]);

  async function revoke(one: OrgInvitation): Promise<void> {
    try {
      await teamApi.uninvite(organization, one.invitation_id);
      setList((before) => before.filter((other) => other !== one));
      notify(t`Revoked: its link works no more.`);
    } catch (reason) {
      notifyFailure(t`Not revoked`)(reason);
    }
  }

  return (
    <section>
      <div className="team-head">
        <h2>{t`Invitations`}</h2>
        <button
          type="button"
          className="button button-small button-primary"
          onClick={() => setMaking(true)}
        >
          <Icon name="plus" />
          {t`Invite somebody`}
        </button>
      </div>
      {list.length > 0 && (
        <ul className="secrets" aria-label={t`Invitations`}>
          {list.map((one) => (
            <li key={one.invitation_id} className="secret">
              <div className="secret-words">
                <p className="secret-name">{one.email || t`Whoever has the link`}</p>
                <p className="quiet">
                  {t`as ${roleName(one.role).toLowerCase()} · ${leftWords(one, now)}`}
                </p>
              </div>
              <button
                type="button"
                className="button button-small"
                aria-label={t`Revoke the invitation for ${one.email || t`whoever has the link`}`}
                onClick={() => void revoke(one)}
              >
                {t`Revoke`}
              </button>
            </li>
          ))}
        </ul>
      )}
      {making && <InviteDialog ours={ours} onClose={() => setMaking(false)} />}
    </section>
  );
}

function leftWords({ expires_at: end }: OrgInvitation, now: number): string {
  const left = secondsUntil(end, now);
  return left > 0 ? t`${duration(left)} left` : t`has ended`;
}

const TTLS = worded(() => [
  { value: '1d', words: t`1 day` },
  { value: '7d', words: t`7 days` },
  { value: '30d', words: t`30 days` },
]);

interface InviteProps {
  readonly ours: Team;
  readonly onClose: () => void;
}

function InviteDialog({ ours, onClose }: InviteProps) {
  const [role, setRole] = useState<OrgRole>('member');
  const [ttl, setTtl] = useState('7d');
  const [email, setEmail] = useState('');
  const [trouble, setTrouble] = useState<string | null>(null);
  const [made, setMade] = useState<MadeInvitation | null>(null);
  const closed = isLocal(useStore(realms));
  const roles = rolesOf(ours, { role: 'member', kind: 'adm' });

  async function make(): Promise<void> {
    try {
      const body = { role, ttl, email: email.trim(), groups: [] };
      setMade(await teamApi.invite(ours.organization.organization_id, body));
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble(reason.message);
    }
  }

  return (
    <Dialog title={t`Invite somebody to ${ours.organization.name}`} onClose={onClose} wide>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        {trouble !== null && (
          <p className="form-trouble" role="alert">
            {trouble}
          </p>
        )}
        {closed && (
          <p className="share-local">
            {t`Nobody else can log in here yet, which an invitation needs: whoever runs this Atoll sets up a login provider (${(<code>docs/run/sign-in.md</code>)}). Without one, share a terminal by link.`}
          </p>
        )}
        <div className="form-row">
          <Field
            label={t`As`}
            hint={ROLES().find(({ value }) => value === role)?.note ?? ''}
            trouble={null}
          >
            {(wiring) => (
              <select
                {...wiring}
                value={role}
                onChange={(event) =>
                  setRole(roles.find((one) => one === event.target.value) ?? role)
                }
              >
                {roles.map((one) => (
                  <option key={one} value={one}>
                    {roleName(one)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label={t`Works for`} trouble={null}>
            {(wiring) => (
              <select {...wiring} value={ttl} onChange={(event) => setTtl(event.target.value)}>
                {TTLS().map(({ value, words }) => (
                  <option key={value} value={value}>
                    {words}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field
            label={t`For whom`}
            hint={t`A note for this list; nothing is sent`}
            trouble={null}
            grow
          >
            {(wiring) => (
              <input
                {...wiring}
                autoComplete="off"
                maxLength={254}
                value={email}
                onChange={(event) => setEmail(event.target.value)}
              />
            )}
          </Field>
        </div>
        {made !== null && (
          <OnceShown label={t`Invitation link`} value={made.url}>
            <p>
              {closed
                ? t`This link is shown once and works once. Once people can log in here, whoever opens it joins.`
                : t`This link is shown once and works once. Whoever opens it logs in, and joins.`}
            </p>
            {made.local_only && <LocalOnly />}
          </OnceShown>
        )}
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {made === null ? t`Cancel` : t`Done`}
          </button>
          {made === null && (
            <button type="submit" className="button button-primary">
              {t`Make a link`}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}
