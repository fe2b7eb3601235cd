/** One terminal's pane: the screen, what is known of its connection, search, text view. */

import { useEffect, useRef, useState } from 'react';
import type { Terminal } from '../api/types';
import { announce, notify } from '../state/announce';
import { useStore } from '../state/store';
import { shade } from '../state/theme';
import type { AttachStatus } from '../terminal/attach';
import { TerminalView } from '../terminal/view';
import { ComposeBar, TouchKeys } from './TouchKeys';
import { PaneNotice } from './PaneNotice';
import { PaneBar } from './PaneBar';
import { SearchBar } from './SearchBar';
import { TextView } from './TextView';

interface TerminalPaneProps {
  readonly sandboxId: string;
  readonly terminal: Terminal;
  readonly client: string;
  readonly visible: boolean;
  readonly onStatus: (terminalId: string, status: AttachStatus) => void;
  readonly onEscape: () => void;
  readonly onPalette: () => void;
}

const phone = window.matchMedia('(pointer: coarse) and (max-width: 760px)');
const FLASH_MS = 1200;

export function TerminalPane(props: TerminalPaneProps) {
  const { sandboxId, terminal, client, visible, onStatus, onEscape, onPalette } = props;
  const terminalId = terminal.terminal_id;
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<TerminalView | null>(null);
  const [status, setStatus] = useState<AttachStatus | null>(null);
  const [refusedAt, setRefusedAt] = useState(0);
  const [searching, setSearching] = useState(false);
  const [matches, setMatches] = useState({ index: -1, count: 0 });
  const [hover, setHover] = useState<string | null>(null);
  const [text, setText] = useState<string | null>(null);
  const colour = useStore(shade);
  const calls = useRef({ onStatus, onEscape, onPalette });

  useEffect(() => {
    calls.current = { onStatus, onEscape, onPalette };
  });

  useEffect(() => {
    if (host.current === null) return;
    const made = new TerminalView({
      host: host.current,
      sandboxId,
      terminalId,
      clientId: client,
      shade: shade.get(),
      autoFit: !phone.matches,
      onStatus: (next) => {
        setStatus(next);
        calls.current.onStatus(terminalId, next);
      },
      onRefused: (why = 'Not connected: nothing was typed.') => {
        announce(why);
        setRefusedAt(Date.now());
      },
      onInputFull: (message) => notify(message, 'bad'),
      onEscape: () => calls.current.onEscape(),
      onPalette: () => calls.current.onPalette(),
      onSearch: () => setSearching(true),
      onMatches: (index, count) => setMatches({ index, count }),
      onHover: setHover,
    });
    setView(made);
    return () => {
      made.dispose();
      setView(null);
    };
  }, [sandboxId, terminalId, client]);

  useEffect(() => view?.setShade(colour), [view, colour]);
  useEffect(() => {
    if (view === null) return;
    view.show(visible);
    if (visible && !phone.matches && text === null) view.focus();
  }, [view, visible, text]);
  useEffect(() => {
    if (refusedAt === 0) return;
    const timer = window.setTimeout(() => setRefusedAt(0), FLASH_MS);
    return () => window.clearTimeout(timer);
  }, [refusedAt]);

  return (
    <div className={refusedAt > 0 ? 'pane pane-refused' : 'pane'} hidden={!visible}>
      <PaneBar
        status={status}
        onSearch={() => setSearching(true)}
        onText={() => setText(view?.text() ?? '')}
        onFit={() => view?.fitToScreen()}
        onAsk={() => view?.requestControl()}
        onCopy={() => void view?.copySelection()}
      />
      {searching && view !== null && (
        <SearchBar
          matches={matches}
          onFind={(words, direction, growing) => view.find(words, direction, growing)}
          onClose={() => {
            setSearching(false);
            view.endSearch();
            view.focus();
          }}
        />
      )}
      <div className="pane-stage">
        <div
          ref={host}
          className="pane-screen"
          role="group"
          aria-label={`Terminal ${terminal.name ?? terminal.argv[0] ?? ''}. Control Shift Period leaves it.`}
        />
        {hover !== null && <p className="pane-link">{hover}</p>}
        <PaneNotice status={status} refused={refusedAt > 0} view={view} />
      </div>
      {view !== null && <TouchKeys view={view} />}
      {view !== null && <ComposeBar view={view} />}
      {text !== null && <TextView text={text} onClose={() => setText(null)} />}
    </div>
  );
}
