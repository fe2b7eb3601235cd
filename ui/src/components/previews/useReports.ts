/** Hears the reports of the page in a preview's frame: of that window and origin alone. */

import { useEffect, useState, type RefObject } from 'react';
import {
  SILENT,
  limiter,
  loading,
  readMessage,
  withMessage,
  type Reports,
} from '../../state/previews/reports';

export interface FrameReports {
  readonly reports: Reports;
  /** Asks the document that was loaded to report. */
  readonly listen: () => void;
  readonly clear: () => void;
  /** Lets its person pick an element, or no longer. */
  readonly pick: (on: boolean) => void;
  /** Forgets the element that was picked. */
  readonly drop: () => void;
}

/** `origin` is the preview's own; null while there is none to show. */
export function useReports(
  frame: RefObject<HTMLIFrameElement | null>,
  origin: string | null,
): FrameReports {
  const [reports, setReports] = useState(SILENT);

  useEffect(() => {
    if (origin === null) return;
    const admits = limiter();
    const onMessage = (event: MessageEvent<unknown>): void => {
      const inside = frame.current?.contentWindow ?? null;
      if (inside === null || event.source !== inside || event.origin !== origin) return;
      if (!admits(performance.now())) return;
      const message = readMessage(event.data);
      if (message !== null) setReports((now) => withMessage(now, message));
    };
    window.addEventListener('message', onMessage);
    return () => window.removeEventListener('message', onMessage);
  }, [frame, origin]);

  function send(kind: 'listen' | 'pick' | 'leave'): void {
    if (origin !== null)
      frame.current?.contentWindow?.postMessage({ atoll: 'preview', kind }, origin);
  }

  return {
    reports,
    listen: () => {
      setReports(loading);
      send('listen');
    },
    clear: () => setReports((now) => ({ ...now, errors: [], more: 0 })),
    pick: (on) => {
      setReports((now) => ({ ...now, picking: on, picked: null }));
      send(on ? 'pick' : 'leave');
    },
    drop: () => setReports((now) => ({ ...now, picked: null })),
  };
}
