/** Follows the cards of one terminal or machine over reconnects, each resumed where it ended. */

import { api } from '../../api/client';
import { keyProtocols } from '../../api/page-key';
import { BROWSER_TIMERS, Pulse } from '../../pulse';
import { retryDelay } from '../../retry';
import { parseFrame } from '../attach/frames';
import { NO_CARDS, readPage, withPage, type CardList } from './cards';

const PACE = { firstMs: 300, mostMs: 5_000 };
/** The terminal, the sandbox or the way in is gone: coming back is of no use. */
const FINAL_CODES = [4401, 4404, 4409, 4410];

/** Calls `onCards` at every change until the returned function is called. */
export function followCards(
  sandboxId: string,
  id: string,
  onCards: (list: CardList, connected: boolean) => void,
): () => void {
  let list = NO_CARDS;
  let socket: WebSocket | null = null;
  let timer: number | undefined;
  let attempts = 0;
  let over = false;

  const pulse = new Pulse(BROWSER_TIMERS, {
    onQuiet: (quiet) => onCards(list, !quiet),
    onSilence: () => onClose(0),
  });

  function connect(): void {
    const made = new WebSocket(api.cardsAddress(sandboxId, id, list.seq), keyProtocols());
    socket = made;
    pulse.begin();
    made.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (socket !== made || over || typeof data !== 'string') return;
      pulse.felt();
      const frame = parseFrame(data);
      if (frame?.type === 'heartbeat') pulse.beatsEvery(frame.everyMs);
      const page = readPage(data);
      if (page === null) return;
      attempts = 0;
      list = withPage(list, page);
      onCards(list, true);
    };
    made.onclose = ({ code }) => {
      if (socket === made) onClose(code);
    };
  }

  function onClose(code: number): void {
    if (over) return;
    pulse.end();
    const closed = socket;
    socket = null;
    closed?.close();
    onCards(list, false);
    if (FINAL_CODES.includes(code)) return;
    timer = window.setTimeout(connect, retryDelay(attempts, PACE, Math.random()));
    attempts += 1;
  }

  connect();
  return () => {
    over = true;
    pulse.end();
    window.clearTimeout(timer);
    socket?.close();
  };
}
