/** What somebody sees who came by a share link: its terminals or its recording, and nothing else. */

import { Suspense, use, useCallback, useEffect, useState } from 'react';
import { Problem, reportLoggedOut } from '../../api/call';
import { api } from '../../api/client';
import type { GuestAccess, Terminal } from '../../api/types';
import { t } from '../../language/t';
import { clientId } from '../../terminal/attach/client-id';
import type { AttachStatus } from '../../terminal/attach/status';
import { fontsLoaded } from '../../terminal/screen/fonts';
import { readCast, type Cast } from '../../terminal/screen/cast';
import { Player } from '../recordings/Player';
import { TerminalPane } from '../terminals/TerminalPane';
import { terminalWords } from '../parts/words';
import { GuestHead } from './GuestHead';

interface GuestRoomProps {
  readonly name: string;
  readonly access: GuestAccess;
  /** The link was revoked or has expired: what was seen stays, and nothing can be typed. */
  readonly over: boolean;
}

/** Guests have no event log; new terminals of a whole sandbox are found by looking. */
const LOOK_MS = 5_000;

export function GuestRoom({ name, access, over }: GuestRoomProps) {
  const recording = access.recording_id;
  const place = access.sandbox_name ?? t`Sandbox`;
  const sandboxId = access.sandbox_id ?? '';

  useEffect(() => {
    document.title = `${place} · Atoll`;
  }, [place]);

  return (
    <main
      className="sandbox guest"
      aria-label={t`${recording === null ? t`Terminal` : t`Recording`} of ${place}`}
    >
      <GuestHead {...{ name, access, over }} place={place} />
      {recording === null ? (
        <Terminals sandboxId={sandboxId} over={over} />
      ) : (
        <Recording sandboxId={sandboxId} id={recording} />
      )}
    </main>
  );
}

interface TerminalsProps {
  readonly sandboxId: string;
  readonly over: boolean;
}

function Terminals({ sandboxId, over }: TerminalsProps) {
  const { list, trouble } = useTerminals(sandboxId, over);
  const [wanted, setWanted] = useState<string | null>(null);
  const chosen = list?.find(({ terminal_id: id }) => id === wanted) ?? list?.[0];
  return (
    <>
      {list !== null && list.length > 1 && (
        <div className="tabs" role="group" aria-label={t`Terminals`}>
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
              <GuestTerminal
                key={chosen.terminal_id}
                sandboxId={sandboxId}
                terminal={chosen}
                over={over}
              />
            </Suspense>
          )}
          {list !== null && chosen === undefined && (
            <p className="log quiet">{trouble ?? t`No terminal is open here just now.`}</p>
          )}
        </div>
      </div>
    </>
  );
}

interface RecordingProps {
  readonly sandboxId: string;
  readonly id: string;
}

/** The recording of the link, played when the guest likes. */
function Recording({ sandboxId, id }: RecordingProps) {
  const [cast, setCast] = useState<Cast | null>(null);
  const [trouble, setTrouble] = useState(t`Loading…`);
  useEffect(() => {
    let gone = false;
    api.recording(sandboxId, id).then(
      (text) => {
        if (gone) return;
        setCast(readCast(text));
        setTrouble(t`This recording cannot be played.`);
      },
      (reason: unknown) => {
        if (!gone) setTrouble(reason instanceof Error ? reason.message : String(reason));
      },
    );
    return () => {
      gone = true;
    };
  }, [sandboxId, id]);
  if (cast === null) return <p className="log quiet">{trouble}</p>;
  return (
    <div className="log recordings">
      <Player cast={cast} start={0} />
    </div>
  );
}

interface GuestTerminalProps {
  readonly sandboxId: string;
  readonly terminal: Terminal;
  readonly over: boolean;
}

/** A terminal's connection learns of the end first, and reports it to the whole page. */
function onStatus(_: string, { phase }: AttachStatus): void {
  if (phase === 'revoked') reportLoggedOut();
}

function GuestTerminal({ sandboxId, terminal, over }: GuestTerminalProps) {
  const client = use(clientId());
  use(fontsLoaded());
  const nothing = useCallback(() => undefined, []);
  return (
    <TerminalPane
      {...{ sandboxId, terminal, client }}
      visible
      over={over}
      onStatus={onStatus}
      onPageKey={nothing}
    />
  );
}

interface Found {
  readonly list: readonly Terminal[] | null;
  readonly trouble: string | null;
}

function useTerminals(sandboxId: string, over: boolean): Found {
  const [list, setList] = useState<readonly Terminal[] | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    // Each look without a link counts as a wrong guess, and too many shut this address out.
    if (over) return;
    let gone = false;
    async function look(): Promise<void> {
      try {
        const found = await api.terminals(sandboxId);
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
  }, [sandboxId, over]);
  return { list, trouble };
}
