/** A beat for what no event tells of: it is asked for again while the page is in view. */

import { useEffect, useState } from 'react';

/** Counts beats; none comes while the page is out of view, and one as soon as it is back. */
export function useBeat(everyMs: number): number {
  const [beats, setBeats] = useState(0);
  useEffect(() => {
    const beat = (): void => {
      if (document.visibilityState === 'visible') setBeats((now) => now + 1);
    };
    const timer = window.setInterval(beat, everyMs);
    document.addEventListener('visibilitychange', beat);
    return () => {
      window.clearInterval(timer);
      document.removeEventListener('visibilitychange', beat);
    };
  }, [everyMs]);
  return beats;
}
