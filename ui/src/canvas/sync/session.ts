/** One dashboard opened in this window: its document, who is there, and the connection. */

import { Awareness } from 'y-protocols/awareness';

import { socketAddress } from '../../api/call';
import { keyProtocols } from '../../api/page-key';
import { BROWSER_TIMERS } from '../../pulse';
import { connected } from '../../state/sandboxes';
import { Store } from '../../state/store';
import { listenForWake } from '../../terminal/attach/wake';
import { Board } from '../document/board';
import { peersOf, type OwnState, type Peer } from '../presence/presence';
import { Connection, type DocumentSocket, type DocumentStatus } from './connection';

export interface Session {
  readonly board: Board;
  readonly status: Store<DocumentStatus>;
  /** The others, by what they say of themselves. */
  readonly peers: Store<readonly Peer[]>;
  readonly retry: () => void;
  readonly say: (state: Partial<OwnState>) => void;
  readonly close: () => void;
}

export interface SessionHandlers {
  readonly onRefused: (code: string, message: string) => void;
  readonly onRenamed: (name: string) => void;
}

export const dashboardAt = (id: string): string => `v1/dashboards/${encodeURIComponent(id)}`;

export function openSession(id: string, handlers: SessionHandlers): Session {
  const board = new Board();
  const awareness = new Awareness(board.doc);
  awareness.setLocalState({ cursor: null, selection: [], sees: null, inside: null, drag: null });
  const peers = new Store<readonly Peer[]>([]);
  const look = (): void => peers.set(peersOf(awareness.getStates(), board.doc.clientID));
  awareness.on('change', look);
  const address = socketAddress(
    `${dashboardAt(id)}/attach`,
    new URLSearchParams({ heartbeat: 'true' }),
  );
  const connection = new Connection({
    doc: board.doc,
    awareness,
    // A WebSocket's handlers are typed wider than the part of it that is used.
    connect: () => new WebSocket(address, keyProtocols()) as unknown as DocumentSocket,
    onStatus: (next) => status.set(next),
    ...handlers,
    timers: BROWSER_TIMERS,
    random: () => Math.random(),
  });
  const status = new Store(connection.status);
  const stopWake = listenForWake((suspect) => connection.wake(suspect));
  // The log of events notices a network that has gone away, and this connection does not.
  const stopEvents = connected.subscribe(() => connection.wake(true));
  const stopLeaving = warnOfUnsaved(status);
  connection.open();
  return {
    board,
    status,
    peers,
    retry: () => connection.wake(true),
    say: (state) => awareness.setLocalState({ ...(awareness.getLocalState() ?? {}), ...state }),
    close: () => {
      stopWake();
      stopEvents();
      stopLeaving();
      connection.dispose();
      awareness.destroy();
      board.destroy();
    },
  };
}

/** The browser asks before it drops edits that the server does not have. */
function warnOfUnsaved(status: Store<DocumentStatus>): () => void {
  const onLeave = (event: BeforeUnloadEvent): void => {
    if (!status.get().saved) event.preventDefault();
  };
  window.addEventListener('beforeunload', onLeave);
  return () => window.removeEventListener('beforeunload', onLeave);
}
