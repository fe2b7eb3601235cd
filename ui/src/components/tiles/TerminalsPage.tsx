/** Every terminal of every running sandbox at once, small and live; one key leads into one. */

import { use, useEffect, useMemo, useRef, type KeyboardEvent } from 'react';
import type { Sandbox, Terminal } from '../../api/types';
import { plural, t } from '../../language/t';
import { needyFirst } from '../../state/attention/agents';
import { isLive } from '../../state/acts';
import { go } from '../../state/route';
import { loadTerminals, terminals } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { clientId } from '../../terminal/attach/client-id';
import { fontsLoaded } from '../../terminal/screen/fonts';
import { PageHead } from '../parts/Page';
import { Empty } from '../parts/States';
import { Tile } from './Tile';

interface TerminalsPageProps {
  readonly list: readonly Sandbox[];
  /** The terminal that its person comes from. */
  readonly from: string | null;
  readonly onMenu: () => void;
  readonly onPalette: () => void;
}

interface Shown {
  readonly sandbox: Sandbox;
  readonly terminal: Terminal;
}

export function TerminalsPage({ list, from, onMenu, onPalette }: TerminalsPageProps) {
  const loaded = useStore(terminals);
  const client = use(clientId());
  use(fontsLoaded());
  const grid = useRef<HTMLUListElement>(null);
  const live = useMemo(() => list.filter(isLive), [list]);
  const ids = live.map((sandbox) => sandbox.sandbox_id).join(' ');
  useEffect(() => {
    // One that ends meanwhile is no news: it leaves the page with its sandbox.
    for (const id of ids.split(' ').filter(Boolean)) loadTerminals(id).catch(() => undefined);
  }, [ids]);
  const shown = needyFirst(live).flatMap((sandbox): Shown[] =>
    (loaded[sandbox.sandbox_id] ?? [])
      .filter(({ state }) => state !== 'exited')
      .map((terminal) => ({ sandbox, terminal })),
  );
  const some = shown.length > 0;
  useEffect(() => {
    if (some) enter(grid.current, from);
  }, [some, from]);

  return (
    <main className="tiles" aria-label={t`Terminals`}>
      <PageHead
        title={t`Terminals`}
        onMenu={onMenu}
        note={
          shown.length > 0 && (
            <span className="quiet">
              {t`${plural(shown.length, { one: '# terminal', other: '# terminals' })} · Enter opens one`}
            </span>
          )
        }
      />
      {shown.length === 0 ? (
        <div className="page-body">
          <Empty icon="terminal">{t`No terminal is open in a running sandbox.`}</Empty>
        </div>
      ) : (
        <ul
          ref={grid}
          className="tiles-grid"
          onKeyDown={(event) => {
            if (event.key.toLowerCase() === 'k' && event.ctrlKey) onPalette();
            else rove(event);
          }}
        >
          {shown.map(({ sandbox, terminal }) => (
            <Tile
              key={`${sandbox.sandbox_id} ${terminal.terminal_id}`}
              {...{ sandbox, terminal, client }}
              onOpen={() => go(sandbox.sandbox_id, terminal.terminal_id)}
            />
          ))}
        </ul>
      )}
    </main>
  );
}

/** Puts the keyboard at the tile of a terminal, or at the first one. */
function enter(grid: HTMLElement | null, terminal: string | null): void {
  const faces = [...(grid?.querySelectorAll<HTMLElement>('.tile-face') ?? [])];
  (faces.find((face) => face.dataset['terminal'] === terminal) ?? faces[0])?.focus();
}

/** Arrow keys move between tiles: across by one, up and down by a row as it is drawn. */
function rove(event: KeyboardEvent<HTMLElement>): void {
  const faces = [...event.currentTarget.querySelectorAll<HTMLElement>('.tile-face')];
  const at = faces.findIndex((face) => face === document.activeElement);
  const here = faces[at];
  if (here === undefined) return;
  const top = here.getBoundingClientRect().top;
  const columns = faces.filter((face) => face.getBoundingClientRect().top === top).length;
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  faces[Math.min(faces.length - 1, Math.max(0, at + step))]?.focus();
}
