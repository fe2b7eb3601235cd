/** One terminal's pane: the screen or its cards, who is here, search, text view. */

import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import type { Terminal } from '../../api/types';
import { t } from '../../language/t';
import { announce } from '../../state/announce';
import { phone, prefersCards } from '../../state/screen';
import { AgentBar } from '../agents/AgentBar';
import { CardsView } from '../agents/CardsView';
import { CopyNotice } from './CopyNotice';
import { PaneBar } from './PaneBar';
import { PaneNotice } from './PaneNotice';
import { SearchBar } from './SearchBar';
import { ShareDialog } from '../people/ShareDialog';
import type { panelOf } from '../parts/TabList';
import { SizeDialog } from './SizeDialog';
import { TextView } from './TextView';
import type { Place } from '../../terminal/layout/layout';
import type { PageKey } from '../../terminal/screen/page-keys';
import type { AgentState } from '../../terminal/attach/party';
import { isOver, type AttachStatus } from '../../terminal/attach/status';
import { handoverWords } from '../../terminal/attach/turns';
import { typeAnyway } from './type-anyway';
import { ComposeBar, TouchKeys } from './TouchKeys';
import type { TerminalView } from '../../terminal/screen/view';
import { useTerminalView, type Calls, type CanvasPlace, type Viewed } from './useTerminalView';

interface TerminalPaneProps extends Calls {
  readonly sandboxId: string;
  readonly terminal: Terminal;
  readonly client: string;
  readonly visible: boolean;
  /** Whether the keyboard is to be here, of all panes in view; where there is one, it is. */
  readonly active?: boolean;
  /** Where it lies among others; null: it has the whole view. */
  readonly place?: Place | null;
  /** Where its bar is shown instead of above it. */
  readonly slot?: HTMLElement | null;
  /** Where its people are shown instead of in its bar. */
  readonly people?: HTMLElement | null;
  /** The person's way in has ended, as heard elsewhere. */
  readonly over?: boolean;
  /** The keyboard has come in. */
  readonly onEnter?: () => void;
  /** Its place on a canvas, where it is on one. */
  readonly canvas?: CanvasPlace;
  /** Whether its agent is shown as cards, where that is kept elsewhere. */
  readonly cards?: boolean;
  readonly onCards?: (cards: boolean) => void;
  /** Takes its view: a canvas draws a picture of it when it leaves. */
  readonly onView?: (view: TerminalView | null) => void;
  /** Attributes that tie it to its tab, where it has one. */
  readonly panel?: ReturnType<typeof panelOf>;
}

/** What lies over the pane. */
type Over = { readonly is: 'share' | 'size' } | { readonly is: 'text'; readonly text: string };

export function TerminalPane(props: TerminalPaneProps) {
  const { sandboxId, terminal, client, visible, over: ended, panel, ...calls } = props;
  const active = props.active !== false;
  const terminalId = terminal.terminal_id;
  const [searching, setSearching] = useState(false);
  const [over, setOver] = useState<Over | null>(null);
  const onSearch = (): void => setSearching(true);
  const onPageKey = (key: PageKey): void => {
    if (key === 'search') onSearch();
    else if (key === 'unlock') void typeAnyway(sandboxId, terminalId, viewed.status);
    else calls.onPageKey(key);
  };
  const viewed = useTerminalView(
    { sandboxId, terminalId, client, canvas: props.canvas },
    { ...calls, onPageKey },
  );
  const { view, status, refused } = viewed;
  const agent = agentIn(status);
  const [cards, setCards] = useCards(agent !== null, props);
  const idle = over === null;
  const onRun = useRun(view, status?.me?.role === 'viewer');
  const toTerminal = useCallback(() => setCards(false), [setCards]);

  useShown(view, visible && !cards, active && idle);
  useEffect(() => {
    if (ended === true) view?.revoke();
  }, [view, ended]);
  useHandover(terminal.name, status, visible);

  const { onView } = props;
  useEffect(() => onView?.(view), [view, onView]);

  return (
    <div
      {...boxOf(props, refused !== null)}
      hidden={!visible}
      onFocusCapture={props.onEnter}
      {...panel}
    >
      <Placed slot={props.slot ?? null} hidden={!visible}>
        <PaneBar
          {...{ sandboxId, terminal, status, view, cards }}
          people={peopleOf(props)}
          onCards={() => setCards(!cards)}
          onShare={() => setOver({ is: 'share' })}
          onSearch={onSearch}
          onSize={() => setOver({ is: 'size' })}
          onText={() => setOver({ is: 'text', text: view?.text() ?? '' })}
        >
          {agent !== null && <AgentBar {...{ sandboxId, terminalId, agent }} />}
        </PaneBar>
      </Placed>
      {cards && visible && (
        <CardsView sandboxId={sandboxId} id={terminalId} onTerminal={toTerminal} onRun={onRun} />
      )}
      <Screen
        {...{ terminal, viewed }}
        hidden={cards}
        searching={searching && !cards}
        onSearched={() => setSearching(false)}
        onUnlock={() => void typeAnyway(sandboxId, terminalId, status)}
      />
      {over !== null && (
        <PaneOver {...{ sandboxId, terminal, status, over }} onClose={() => setOver(null)} />
      )}
    </div>
  );
}

/** Where the people of a pane in view are shown instead of in its bar. */
function peopleOf({ visible, people = null }: TerminalPaneProps): HTMLElement | null {
  return visible ? people : null;
}

/** Says aloud who drives now, of a terminal that is in view; an agent's lock is said by its bar. */
function useHandover(name: string, status: AttachStatus | null, visible: boolean): void {
  const before = useRef<AttachStatus | null>(null);
  useEffect(() => {
    const earlier = before.current;
    before.current = status;
    if (earlier === null || status === null || !visible) return;
    const words = handoverWords(earlier, status);
    if (words !== null) announce(`${name}: ${words}`);
  }, [name, status, visible]);
}

function agentIn(status: AttachStatus | null): AgentState | null {
  return status?.agent ?? null;
}

/** Types a line for the person; null for a viewer. */
function useRun(view: TerminalView | null, watches: boolean): ((line: string) => void) | null {
  const run = useCallback((line: string) => void view?.type(`${line}\r`), [view]);
  return watches ? null : run;
}

/** Draws it while it is in view, with the keyboard in it where that is to be there. */
function useShown(view: TerminalView | null, shown: boolean, active: boolean): void {
  useEffect(() => {
    if (view === null) return;
    view.show(shown);
    if (shown && active && !phone.matches) view.focus();
  }, [view, shown, active]);
}

interface PlacedProps {
  readonly slot: HTMLElement | null;
  readonly hidden: boolean;
  readonly children: ReactNode;
}

/** Here, or in the slot while its pane is in view. */
function Placed({ slot, hidden, children }: PlacedProps) {
  if (slot === null) return children;
  return createPortal(
    <div className="bar-placed" hidden={hidden}>
      {children}
    </div>,
    slot,
  );
}

interface PaneOverProps {
  readonly sandboxId: string;
  readonly terminal: Terminal;
  readonly status: Viewed['status'];
  readonly over: Over;
  readonly onClose: () => void;
}

/** The dialog over a pane. */
function PaneOver({ sandboxId, terminal, status, over, onClose }: PaneOverProps) {
  switch (over.is) {
    case 'share':
      return <ShareDialog {...{ sandboxId, terminal, onClose }} />;
    case 'text':
      return <TextView text={over.text} onClose={onClose} />;
    case 'size':
      return status === null ? null : (
        <SizeDialog {...{ sandboxId, status, onClose }} terminalId={terminal.terminal_id} />
      );
  }
}

/** How the pane's box looks and where it lies. */
export function boxOf(
  { active, place = null }: Pick<TerminalPaneProps, 'active' | 'place'>,
  refused = false,
) {
  const names = ['pane'];
  if (refused) names.push('pane-refused');
  if (place === null) return { className: names.join(' ') };
  names.push('pane-placed');
  if (active !== false) names.push('pane-active');
  const { left, top, width, height } = place;
  const style = {
    left: `${left * 100}%`,
    top: `${top * 100}%`,
    width: `${width * 100}%`,
    height: `${height * 100}%`,
  };
  return { className: names.join(' '), style };
}

/** A narrow screen shows an agent as cards by default; any other screen, its terminal. */
function useCards(
  hasAgent: boolean,
  { cards, onCards }: Pick<TerminalPaneProps, 'cards' | 'onCards'>,
): [boolean, (cards: boolean) => void] {
  const [wanted, setWanted] = useState<boolean | null>(null);
  if (cards !== undefined && onCards !== undefined) return [cards, onCards];
  return [wanted ?? (hasAgent && prefersCards()), setWanted];
}

interface ScreenProps {
  readonly terminal: Terminal;
  readonly viewed: Viewed;
  readonly hidden: boolean;
  readonly searching: boolean;
  readonly onSearched: () => void;
  readonly onUnlock: () => void;
}

/** The terminal itself with what lies on it, and a touch screen's keys below. */
function Screen({ terminal, viewed, hidden, searching, onSearched, onUnlock }: ScreenProps) {
  const { host, view, status, refused, copying, matches, hover } = viewed;
  const types = !hidden && status?.me?.role !== 'viewer';
  const off = status !== null && isOver(status.phase);
  return (
    <>
      {searching && view !== null && (
        <SearchBar
          matches={matches}
          onFind={(words, direction, growing) => view.find(words, direction, growing)}
          onClose={() => {
            onSearched();
            view.endSearch();
            view.focus();
          }}
        />
      )}
      <div className="pane-stage" hidden={hidden}>
        <CopyNotice copying={copying} onDone={() => view?.focus()} />
        <div
          ref={host}
          className="pane-screen"
          role="group"
          aria-label={t`Terminal ${terminal.name}. Control Shift Period leaves it.`}
        />
        {hover !== null && <p className="pane-link">{hover}</p>}
        <PaneNotice {...{ status, refused, view, onUnlock }} />
      </div>
      {types && view !== null && (
        <>
          <TouchKeys view={view} off={off} />
          <ComposeBar view={view} off={off} />
        </>
      )}
    </>
  );
}
