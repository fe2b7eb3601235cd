/** The page behind a share link: who invites, to what, a name, and in. */

import { useState } from 'react';
import { Problem } from '../../api/call';
import { api } from '../../api/client';
import type { Invitation } from '../../api/types';
import { t } from '../../language/t';
import { duration, secondsUntil, tick } from '../../state/clock';
import { comeIn, guestName } from '../../state/login';
import { useStore } from '../../state/store';
import { Mark } from '../parts/icons';
import { useAnswer } from '../parts/useAnswer';

interface InvitedProps {
  readonly ticket: string;
  readonly why: string | null;
}

const MAX_NAME = 40;

export function Invited({ ticket, why }: InvitedProps) {
  const { value: invitation, problem } = useAnswer(api.invitation, ticket);
  const [name, setName] = useState(guestName);
  const [busy, setBusy] = useState(false);
  // Joining says what else may be wrong.
  if (problem instanceof Problem && problem.status === 401) {
    return <Refused why={problem.message} />;
  }
  return (
    <main className="welcome">
      <form
        className="welcome-card"
        onSubmit={(event) => {
          event.preventDefault();
          setBusy(true);
          void comeIn(ticket, name).finally(() => setBusy(false));
        }}
      >
        <Mark />
        <h1>{titleOf(invitation)}</h1>
        {why !== null && (
          <p className="welcome-why" role="alert">
            {why}
          </p>
        )}
        {invitation !== null && <Offer invitation={invitation} />}
        <p>{t`Everyone there sees that you are there. What should they call you?`}</p>
        <div className="field">
          <label htmlFor="guest-name">{t`Your name`}</label>
          <input
            id="guest-name"
            autoFocus
            autoComplete="nickname"
            maxLength={MAX_NAME}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
        <button type="submit" className="button button-primary" disabled={busy}>
          {t`Join`}
        </button>
      </form>
    </main>
  );
}

function titleOf(invitation: Invitation | null): string {
  const what = whatOf(invitation);
  if (invitation === null || invitation.inviter === '') return t`You are invited to ${what}`;
  return t`${invitation.inviter} invites you to ${what}`;
}

function whatOf(invitation: Invitation | null): string {
  if (invitation?.dashboard_name != null) return t`a dashboard`;
  return invitation?.recording_id == null ? t`a terminal` : t`a recording`;
}

function Offer({ invitation }: { readonly invitation: Invitation }) {
  const now = useStore(tick);
  const { sandbox_name: sandbox, terminal_id: terminal, role, expires_at: end } = invitation;
  if (invitation.dashboard_name !== null) {
    return (
      <p>
        {role === 'viewer'
          ? t`${(<strong>{invitation.dashboard_name}</strong>)}: you may look for ${duration(secondsUntil(end, now))}.`
          : t`${(<strong>{invitation.dashboard_name}</strong>)}: you may edit for ${duration(secondsUntil(end, now))}.`}
      </p>
    );
  }
  if (invitation.recording_id !== null) {
    return (
      <p>
        {t`One recording of ${(<strong>{sandbox}</strong>)}: you may play it for ${duration(secondsUntil(end, now))}.`}
      </p>
    );
  }
  return (
    <p>
      {t`${terminal === null ? t`The terminals` : t`One terminal`} of ${(<strong>{sandbox}</strong>)}: ${role === 'viewer' ? t`you may watch` : t`you may watch and ask to type`}, for ${duration(secondsUntil(end, now))}.`}
    </p>
  );
}

function Refused({ why }: { readonly why: string }) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <Mark />
        <h1>{t`This link does not work`}</h1>
        <p className="welcome-why" role="alert">
          {why}
        </p>
      </div>
    </main>
  );
}
