/** The page behind a share link: a name, and in. */

import { useState } from 'react';
import { comeIn } from '../../state/login';
import { Mark } from '../parts/icons';

interface InvitedProps {
  readonly ticket: string;
  readonly why: string | null;
}

const MAX_NAME = 40;

export function Invited({ ticket, why }: InvitedProps) {
  const [name, setName] = useState('');
  const [busy, setBusy] = useState(false);
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
        <h1>You are invited to a terminal</h1>
        {why !== null && (
          <p className="welcome-why" role="alert">
            {why}
          </p>
        )}
        <p>Everyone there sees who watches and who types. What should they call you?</p>
        <div className="field">
          <label htmlFor="guest-name">Your name</label>
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
          Join
        </button>
      </form>
    </main>
  );
}
