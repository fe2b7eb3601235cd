/** Hears the reports of the page in a preview's frame: of that window and origin alone. */

import { useEffect, useState, type RefObject } from 'react';
import {
  SILENT,
  limiter,
  readMessage,
  withMessage,
  type Reports,
} from '../../state/previews/reports';

export interface FrameReports {
  readonly reports: Reports;
  /** Asks the document that was loaded to report. */
  readonly listen: () => void;
  readonly clear: () => void;
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

  function send(kind: 'listen'): void {
    if (origin !== null)
      frame.current?.contentWindow?.postMessage({ atoll: 'preview', kind }, origin);
  }

  return {
    reports,
    listen: () => {
      setReports(SILENT);
      send('listen');
    },
    clear: () => setReports((now) => ({ ...now, errors: [], more: 0 })),
  };
}
