/** The place that a preview shows, and the link by which its frame comes in. */

import { useEffect, useState } from 'react';
import { forgetPorts, linkTo, loadPorts, ports } from '../../state/previews/ports';
import { firstPort, keepPlace, lastPlace, type PreviewPlace } from '../../state/previews/places';
import { useStore } from '../../state/store';

/** A visit lasts twelve hours; a frame that loads anew after this time takes another link. */
const LINK_MS = 11 * 3_600_000;
const NONE: readonly number[] = [];

/** What came of a link. */
export type Entry =
  | { readonly is: 'none' }
  | { readonly is: 'problem'; readonly words: string }
  | {
      readonly is: 'in';
      readonly port: number;
      readonly url: string;
      readonly origin: string;
      readonly localOnly: boolean;
      readonly at: number;
    };

export interface Preview {
  readonly listening: readonly number[];
  /** Whether the ports were asked for. */
  readonly looked: boolean;
  readonly place: PreviewPlace;
  readonly entry: Entry;
  /** The address of the frame; null while there is none to show. */
  readonly src: string | null;
  /** Grows with each load of the frame. */
  readonly turn: number;
  readonly show: (place: PreviewPlace) => void;
  readonly reload: () => void;
  /** Comes in by another link. */
  readonly enter: () => void;
}

const OUT: Entry = { is: 'none' };

/** The preview of a sandbox that runs; while it does not, or nobody looked yet, nothing is asked. */
export function usePreview(sandboxId: string, start: PreviewPlace | null, live: boolean): Preview {
  const listening = useStore(ports)[sandboxId] ?? NONE;
  const [place, setPlace] = useState(() => start ?? lastPlace(sandboxId));
  const [entry, setEntry] = useState<Entry>(OUT);
  const [turn, setTurn] = useState(0);
  const [loads, setLoads] = useState(place.path);
  const looked = useLooked(sandboxId, live);
  const found = firstPort(listening);
  // What appears first is shown, and stays chosen when it goes for a while.
  if (place.port === null && found !== null) setPlace({ ...place, port: found });
  // The link of a frame that is gone was used: what starts again takes another.
  if (!live && entry.is !== 'none') setEntry(OUT);
  const { port } = place;
  const wants = live && port !== null && entry.is === 'none' && listening.includes(port);
  const src = live ? sourceOf(entry, port, turn === 0 ? null : loads) : null;

  useEffect(() => {
    if (!wants) return;
    let gone = false;
    const settle = (found: Entry): void => {
      if (gone) return;
      setEntry(found);
      setTurn(0);
    };
    linkTo(sandboxId, port, loads).then(
      ({ url, origin, local_only: localOnly }) =>
        settle({ is: 'in', port, url, origin, localOnly, at: Date.now() }),
      (reason: unknown) =>
        settle({ is: 'problem', words: reason instanceof Error ? reason.message : String(reason) }),
    );
    return () => {
      gone = true;
    };
  }, [sandboxId, port, loads, wants]);

  function show(next: PreviewPlace): void {
    setPlace(next);
    if (start === null) keepPlace(sandboxId, next);
    setLoads(next.path);
    if (entry.is === 'in' && next.port === entry.port && Date.now() - entry.at < LINK_MS)
      setTurn(turn + 1);
    else setEntry(OUT);
    if (next.port !== null && !listening.includes(next.port))
      loadPorts(sandboxId).catch(() => undefined);
  }

  return {
    listening,
    looked,
    place,
    entry,
    src,
    turn,
    show,
    reload: () => show(place),
    enter: () => {
      setLoads(place.path);
      setEntry(OUT);
    },
  };
}

/** The address of the frame: its link at first, and later a path at its origin. */
function sourceOf(entry: Entry, port: number | null, path: string | null): string | null {
  if (entry.is !== 'in' || entry.port !== port) return null;
  // `?pane` marks the frame: its documents report errors. Those of a tab do not.
  return path === null ? entry.url.replace('#', '?pane#') : `${entry.origin}${path}`;
}

/** Asks once which ports are open; the log tells of those that follow. */
function useLooked(sandboxId: string, live: boolean): boolean {
  const [looked, setLooked] = useState(false);
  useEffect(() => {
    if (!live) {
      // What listened has ended with it, and the next start tells of its own.
      forgetPorts(sandboxId);
      return;
    }
    let gone = false;
    const done = (): void => {
      if (!gone) setLooked(true);
    };
    loadPorts(sandboxId).then(done, done);
    return () => {
      gone = true;
    };
  }, [sandboxId, live]);
  return looked;
}
