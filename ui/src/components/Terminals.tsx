/** The tabs of one sandbox: its terminals and its log, and the pane of the chosen one. */

import { use, useCallback, useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { api } from '../api/client';
import type { Sandbox, Terminal } from '../api/types';
import { announce, notifyFailure } from '../state/announce';
import { go, route } from '../state/route';
import { keepTerminals, loadTerminals, terminals } from '../state/sandboxes';
import { useStore } from '../state/store';
import type { AttachStatus } from '../terminal/attach';
import { clientId } from '../terminal/client-id';
import { Confirm } from './Dialog';
import { Icon } from './icons';
import { LogPane } from './LogPane';
import { TerminalPane } from './TerminalPane';
import { exitWords, terminalWords } from './words';

interface TerminalsProps {
  readonly sandbox: Sandbox;
  readonly onPalette: () => void;
}

const LOG = 'log';

/** Opens a terminal and shows it. */
export async function openTerminal(id: string, agent?: string): Promise<void> {
  try {
    const made = await api.openTerminal(id, agent === undefined ? {} : { agent });
    const now = terminals.get()[id] ?? [];
    keepTerminals(id, [...now.filter((t) => t.terminal_id !== made.terminal_id), made]);
    go(id, made.terminal_id);
  } catch (reason) {
    notifyFailure('No terminal could be opened')(reason);
  }
}

async function closeTerminal(id: string, terminalId: string): Promise<void> {
  try {
    await api.closeTerminal(id, terminalId);
    const now = terminals.get()[id] ?? [];
    keepTerminals(
      id,
      now.filter((terminal) => terminal.terminal_id !== terminalId),
    );
  } catch (reason) {
    notifyFailure('The terminal could not be closed')(reason);
  }
}

export function Terminals({ sandbox, onPalette }: TerminalsProps) {
  const id = sandbox.sandbox_id;
  const client = use(clientId());
  const loaded = useStore(terminals)[id];
  const list = loaded ?? [];
  const tab = useStore(route).tab;
  const [statuses, setStatuses] = useState<Readonly<Record<string, AttachStatus>>>({});
  const [closing, setClosing] = useState<Terminal | null>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const tabs = useRef<HTMLDivElement>(null);
  const live = sandbox.state === 'ready' || sandbox.state === 'active';

  const chosen =
    tab === LOG
      ? LOG
      : ((list.find((t) => t.terminal_id === tab) ?? list.at(0))?.terminal_id ?? LOG);
  if (chosen !== LOG && !opened.has(chosen)) setOpened(new Set([...opened, chosen]));

  useEffect(() => {
    if (live) loadTerminals(id).catch(notifyFailure('The terminals could not be listed'));
  }, [id, live]);

  const onStatus = useCallback((terminalId: string, status: AttachStatus) => {
    setStatuses((now) => ({ ...now, [terminalId]: status }));
  }, []);
  const onEscape = useCallback(() => {
    tabs.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
    announce('Left the terminal. Arrow keys choose a tab, Enter goes back in.');
  }, []);

  function onClose(terminal: Terminal): void {
    const ended =
      terminal.state === 'exited' || (statuses[terminal.terminal_id]?.exit ?? null) !== null;
    if (ended) void closeTerminal(id, terminal.terminal_id);
    else setClosing(terminal);
  }

  return (
    <section className="terminals" aria-label="Terminals">
      <div className="tabs">
        <div ref={tabs} className="tab-list" role="tablist" onKeyDown={rove}>
          {list.map((terminal) => (
            <Tab
              key={terminal.terminal_id}
              terminal={terminal}
              status={statuses[terminal.terminal_id]}
              selected={terminal.terminal_id === chosen}
              onChoose={() => go(id, terminal.terminal_id)}
              onClose={() => onClose(terminal)}
            />
          ))}
          <div className={chosen === LOG ? 'tab tab-on' : 'tab'} role="presentation">
            <button
              type="button"
              role="tab"
              className="tab-face"
              aria-selected={chosen === LOG}
              tabIndex={chosen === LOG ? 0 : -1}
              onClick={() => go(id, LOG)}
            >
              <Icon name="log" />
              Log
            </button>
          </div>
        </div>
        {live && <OpenButtons sandbox={sandbox} />}
      </div>
      <div className="panes">
        {live &&
          list
            .filter((terminal) => opened.has(terminal.terminal_id))
            .map((terminal) => (
              <TerminalPane
                key={terminal.terminal_id}
                sandboxId={id}
                terminal={terminal}
                client={client}
                visible={terminal.terminal_id === chosen}
                onStatus={onStatus}
                onEscape={onEscape}
                onPalette={onPalette}
              />
            ))}
        {chosen === LOG && (
          <LogPane sandbox={sandbox} waitsForTerminal={live && loaded?.length === 0} />
        )}
      </div>
      {closing !== null && (
        <Confirm
          title="Close this terminal?"
          action="Close terminal"
          danger
          onClose={() => setClosing(null)}
          onConfirm={() => void closeTerminal(id, closing.terminal_id)}
        >
          <p>Its program and everything started from it will end, for everyone who watches.</p>
        </Confirm>
      )}
    </section>
  );
}

/** Arrow keys move between tabs, as the ARIA practices have it. */
function rove(event: KeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  if (step === undefined) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')];
  const at = all.findIndex((tab) => tab === document.activeElement);
  if (at < 0) return;
  event.preventDefault();
  all[Math.min(all.length - 1, Math.max(0, at + step))]?.focus();
}

interface TabProps {
  readonly terminal: Terminal;
  readonly status: AttachStatus | undefined;
  readonly selected: boolean;
  readonly onChoose: () => void;
  readonly onClose: () => void;
}

function Tab({ terminal, status, selected, onChoose, onClose }: TabProps) {
  const words = terminalWords(terminal, status?.title ?? '');
  const exit = exitNote(terminal, status);
  return (
    <div className={selected ? 'tab tab-on' : 'tab'} role="presentation">
      <button
        type="button"
        role="tab"
        className="tab-face"
        aria-selected={selected}
        tabIndex={selected ? 0 : -1}
        title={words}
        onClick={onChoose}
        onAuxClick={(event) => {
          if (event.button === 1) onClose();
        }}
      >
        <Icon name="terminal" />
        <span className="tab-words">{words}</span>
        {exit !== null && (
          <span className={exit === 'exit 0' ? 'badge' : 'badge badge-bad'}>{exit}</span>
        )}
        {status?.phase === 'waiting' && <span className="badge badge-warn">offline</span>}
      </button>
      <button type="button" className="tab-close" aria-label={`Close ${words}`} onClick={onClose}>
        <Icon name="close" />
      </button>
    </div>
  );
}

function exitNote(terminal: Terminal, status: AttachStatus | undefined): string | null {
  const exit = status?.exit ?? null;
  if (exit !== null)
    return exitWords(exit.kind === 'code' ? { code: exit.code } : { signal: exit.signal });
  return terminal.state === 'exited' ? exitWords(terminal.exit) : null;
}

function OpenButtons({ sandbox }: { readonly sandbox: Sandbox }) {
  const { sandbox_id: id, agent } = sandbox;
  return (
    <div className="tab-tools">
      <button
        type="button"
        className="button button-small"
        aria-label="New terminal"
        onClick={() => void openTerminal(id)}
      >
        <Icon name="plus" />
        <span className="wide-only">Terminal</span>
      </button>
      {agent !== null && (
        <button
          type="button"
          className="button button-small"
          aria-label={`New ${agent} terminal`}
          onClick={() => void openTerminal(id, agent)}
        >
          <Icon name="agent" />
          <span className="wide-only">{agent}</span>
        </button>
      )}
    </div>
  );
}
