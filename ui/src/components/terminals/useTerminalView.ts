/** One terminal's view tied to the page: made once, updated on changes, disposed in the end. */

import { useEffect, useRef, useState, type RefObject } from 'react';
import { plural, t } from '../../language/t';
import { announce, notify, notifyFailure } from '../../state/announce';
import { contrast } from '../../design/appearance';
import { login } from '../../state/login';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { pointersShown, TEXT_PX, textSize } from '../../terminal/layout/layouts';
import { phone } from '../../state/screen';
import { useStore } from '../../state/store';
import { shade } from '../../state/theme';
import type { AttachStatus } from '../../terminal/attach/status';
import { refusalWords } from '../../terminal/attach/turns';
import type { PageKey } from '../../terminal/screen/page-keys';
import { uploadFiles, uploadRefusal } from '../../terminal/screen/uploads';
import { TerminalView } from '../../terminal/screen/view';
import { useCopying, type Copying } from './CopyNotice';

export interface Place {
  readonly sandboxId: string;
  readonly terminalId: string;
  readonly client: string;
  /** True for a picture of it that nothing can be typed at. */
  readonly watches?: boolean;
  /** Its place on a canvas: the grid that its box has room for, and the zoom it is drawn at. */
  readonly canvas?: CanvasPlace | undefined;
}

export interface CanvasPlace {
  readonly cols: number;
  readonly rows: number;
  readonly zoom: number;
}

export interface Calls {
  readonly onStatus: (terminalId: string, status: AttachStatus) => void;
  /** A key that is the page's was pressed at the terminal. */
  readonly onPageKey: (key: PageKey) => void;
}

export interface Viewed {
  readonly host: RefObject<HTMLDivElement | null>;
  readonly view: TerminalView | null;
  readonly status: AttachStatus | null;
  /** Why keys went nowhere a moment ago, in words; null when none did. */
  readonly refused: string | null;
  readonly matches: { readonly index: number; readonly count: number };
  readonly copying: Copying;
  /** The link under the pointer. */
  readonly hover: string | null;
}

const FLASH_MS = 2600;

export function useTerminalView(place: Place, now: Calls): Viewed {
  const { sandboxId, terminalId, client, watches = false, canvas } = place;
  const usual = useStore(textSize);
  // Letters on a canvas are as large as their box asks for.
  const px = canvas === undefined ? usual : TEXT_PX * canvas.zoom * 1.25;
  const wish = useRef(canvas);
  const points = useStore(pointersShown);
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<TerminalView | null>(null);
  const [status, setStatus] = useState<AttachStatus | null>(null);
  const [refused, setRefused] = useState<{ code: string | null; message: string } | null>(null);
  const [matches, setMatches] = useState({ index: -1, count: 0 });
  const [hover, setHover] = useState<string | null>(null);
  const colour = useStore(shade);
  const contrasts = useStore(contrast.chosen);
  const copying = useCopying(terminalId);
  const { onWish } = copying;
  const calls = useRef(now);

  useEffect(() => {
    calls.current = now;
  });
  useEffect(() => {
    if (host.current === null) return;
    const made = new TerminalView({
      host: host.current,
      sandboxId,
      terminalId,
      clientId: client,
      shade: shade.get(),
      autoFit: !phone.matches && !watches,
      watches,
      textPx: textSize.get(),
      wish: wish.current ?? null,
      onStatus: (next) => {
        setStatus(next);
        calls.current.onStatus(terminalId, next);
      },
      onRefused: (code, message) => {
        announce(message);
        setRefused({ code, message });
      },
      onExpired: (name, mine, reason) => notify(expiryWords(name, mine, reason)),
      onLost: (message) => notify(message, 'bad'),
      onPageKey: (key) => calls.current.onPageKey(key),
      onFiles: (files) => void send(made, sandboxId, files),
      onCopy: onWish,
      onMatches: (index, count) => setMatches({ index, count }),
      onHover: setHover,
    });
    setView(made);
    return () => {
      made.dispose();
      setView(null);
    };
  }, [sandboxId, terminalId, client, watches, onWish]);
  useEffect(() => view?.setShade(colour), [view, colour, contrasts]);
  useEffect(() => view?.setText(px), [view, px]);
  useEffect(() => {
    wish.current = canvas;
    if (canvas !== undefined) view?.setWish({ cols: canvas.cols, rows: canvas.rows });
  });
  useEffect(() => view?.setPointers(points), [view, points]);
  useEffect(() => {
    if (refused === null) return;
    const timer = window.setTimeout(() => setRefused(null), FLASH_MS);
    return () => window.clearTimeout(timer);
  }, [refused]);

  const control = status?.control ?? null;
  const words = refused === null ? null : refusalWords(refused.code, refused.message, control);
  return { host, view, status, refused: words, copying, matches, hover };
}

/** Uploads files and types their paths, as a person who drives may. */
async function send(view: TerminalView, sandboxId: string, files: readonly File[]): Promise<void> {
  const brings = login.get().is === 'in' && mayWork(team.get());
  const refusal = brings
    ? uploadRefusal(files)
    : t`Guests and viewers may not bring files into a sandbox.`;
  if (refusal !== null) {
    notify(refusal, 'bad');
    return;
  }
  if (!view.ready()) return;
  try {
    const paths = await uploadFiles(sandboxId, files);
    announce(plural(paths.length, { one: 'Uploaded a file.', other: 'Uploaded # files.' }));
    view.paste(`${paths.join(' ')} `);
  } catch (reason) {
    notifyFailure(t`The files could not be uploaded`)(reason);
  }
}

function expiryWords(name: string, mine: boolean, reason: string): string {
  const who = mine ? t`You` : name;
  if (reason === 'idle') return t`${who} lost control: nothing was typed for a long while.`;
  return mine
    ? t`You lost control: your connection stayed away.`
    : t`${name} lost control: their connection stayed away.`;
}
