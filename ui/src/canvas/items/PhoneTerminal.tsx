/** A terminal as a card: its picture, live while it is looked at, and the way into it. */

import { Suspense, use, useEffect, useRef, useState } from 'react';
import type { Terminal } from '../../api/types';
import { Icon } from '../../components/parts/icons';
import { useTerminalView } from '../../components/terminals/useTerminalView';
import { t } from '../../language/t';
import { go } from '../../state/route';
import { loadTerminal, terminals } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { clientId } from '../../terminal/attach/client-id';
import { fontsLoaded } from '../../terminal/screen/fonts';
import { nameOf, type Item } from '../document/items';
import { useShown } from './agent-of';

interface PhoneTerminalProps {
  readonly item: Item;
  readonly onOpen: () => void;
}

export function PhoneTerminal({ item, onOpen }: PhoneTerminalProps) {
  const { sandboxId } = item;
  const shown = useShown(item);
  const terminalId = shown.is === 'terminal' ? shown.id : null;
  const cards = shown.is === 'cards' ? shown.id : null;
  const list = useStore(terminals)[sandboxId ?? ''];
  const terminal = list?.find((one) => one.terminal_id === terminalId);
  const card = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (sandboxId === null || terminalId === null) return;
    loadTerminal(sandboxId, terminalId).catch(() => undefined);
  }, [sandboxId, terminalId]);
  useEffect(() => {
    if (card.current === null) return;
    const observer = new IntersectionObserver((entries) =>
      setSeen(entries.some(({ isIntersecting }) => isIntersecting)),
    );
    observer.observe(card.current);
    return () => observer.disconnect();
  }, []);
  return (
    <section ref={card}>
      <h2 className="board-card-title">
        <Icon name={item.kind === 'agent' ? 'agent' : 'terminal'} />
        {nameOf(item)}
        <span className="spring" />
        <button
          type="button"
          className="button button-small"
          aria-label={t`Open ${nameOf(item)}`}
          disabled={terminal === undefined && cards === null}
          onClick={() => (cards === null ? onOpen() : go(sandboxId, cards))}
        >
          {t`Open`}
        </button>
      </h2>
      <div className="card-screen" inert>
        {terminal === undefined && (
          <p className="pane-absent quiet">
            {cards === null ? t`Its terminal is not here.` : t`It works with cards: open it.`}
          </p>
        )}
        {seen && terminal !== undefined && sandboxId !== null && (
          <Suspense>
            <Watched sandboxId={sandboxId} terminal={terminal} />
          </Suspense>
        )}
      </div>
    </section>
  );
}

const nothing = (): void => undefined;

interface WatchedProps {
  readonly sandboxId: string;
  readonly terminal: Terminal;
}

function Watched({ sandboxId, terminal }: WatchedProps) {
  const client = use(clientId());
  use(fontsLoaded());
  const { host, view } = useTerminalView(
    { sandboxId, terminalId: terminal.terminal_id, client, watches: true },
    { onStatus: nothing, onPageKey: nothing },
  );
  useEffect(() => view?.show(true), [view]);
  return <div ref={host} className="pane-screen" aria-hidden="true" />;
}
