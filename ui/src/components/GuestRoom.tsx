/** What somebody sees who came by a share link: the terminals of the link, and nothing else. */

import { Suspense, use, useCallback, useEffect, useState } from 'react';
import { api, Problem } from '../api/client';
import type { Seat, Terminal } from '../api/types';
import { duration, secondsUntil, tick } from '../state/clock';
import { logOut } from '../state/login';
import { useStore } from '../state/store';
import { clientId } from '../terminal/client-id';
import { Avatar } from './Avatar';
import { Mark } from './icons';
import { TerminalPane } from './TerminalPane';
import { terminalWords } from './words';

interface GuestRoomProps {
  readonly name: string;
  readonly seat: Seat;
}

/** Guests have no event log; new terminals of a whole sandbox are found by looking. */
const LOOK_MS = 5_000;

export function GuestRoom({ name, seat }: GuestRoomProps) {
  const now = useStore(tick);
  const { list, trouble } = useTerminals(seat);
  const [wanted, setWanted] = useState<string | null>(null);
  const chosen = list?.find(({ terminal_id: id }) => id === wanted) ?? list?.[0];

  useEffect(() => {
    document.title = `${seat.sandbox_name} · Atoll`;
  }, [seat]);

  return (
    <main className="sandbox guest" aria-label={`Terminal of ${seat.sandbox_name}`}>
      <header className="guest-head">
        <Mark />
        <h1>{seat.sandbox_name}</h1>
        <span className="quiet wide-only">
          {seat.role === 'viewer' ? 'You may watch' : 'You may watch and ask to type'} ·{' '}
          {duration(secondsUntil(seat.expires_at, now))} left
        </span>
        <span className="spring" />
        <Avatar name={name} principal={name} />
        <span className="guest-name">{name}</span>
        <button type="button" className="button button-small" onClick={() => void logOut()}>
          Leave
        </button>
      </header>
      {list !== null && list.length > 1 && (
        <div className="tabs" role="group" aria-label="Terminals">
          {list.map((terminal) => (
            <button
              key={terminal.terminal_id}
              type="button"
              className="button button-small"
              aria-pressed={terminal === chosen}
              title={terminalWords(terminal, '')}
              onClick={() => setWanted(terminal.terminal_id)}
            >
              <span>{terminalWords(terminal, '')}</span>
            </button>
          ))}
        </div>
      )}
      <div className="terminals">
        <div className="panes">
          {chosen !== undefined && (
            <Suspense>
              <Seated key={chosen.terminal_id} sandboxId={seat.sandbox_id} terminal={chosen} />
            </Suspense>
          )}
          {list !== null && chosen === undefined && (
            <p className="log quiet">{trouble ?? 'No terminal is open here just now.'}</p>
          )}
        </div>
      </div>
    </main>
  );
}

interface SeatedProps {
  readonly sandboxId: string;
  readonly terminal: Terminal;
}

function Seated({ sandboxId, terminal }: SeatedProps) {
  const client = use(clientId());
  const nothing = useCallback(() => undefined, []);
  return (
    <TerminalPane
      {...{ sandboxId, terminal, client }}
      visible
      onStatus={nothing}
      onEscape={nothing}
      onPalette={nothing}
    />
  );
}

function useTerminals(seat: Seat): { list: readonly Terminal[] | null; trouble: string | null } {
  const [list, setList] = useState<readonly Terminal[] | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    let gone = false;
    async function look(): Promise<void> {
      try {
        const found = await api.terminals(seat.sandbox_id);
        if (!gone) setList(found);
      } catch (reason) {
        if (!(reason instanceof Problem)) throw reason;
        // Those that are shown stay: their own connections know best how they are.
        if (gone) return;
        setTrouble(reason.message);
        setList((before) => before ?? []);
      }
    }
    void look();
    const timer = window.setInterval(() => void look(), LOOK_MS);
    return () => {
      gone = true;
      window.clearInterval(timer);
    };
  }, [seat.sandbox_id]);
  return { list, trouble };
}
