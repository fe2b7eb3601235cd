/** The server's hits for a text, a moment after it was typed. */

import { useEffect, useState } from 'react';
import { overviewApi, type Hit } from '../../api/overview';

const WAIT_MS = 150;
const FROM = 2;
const MAX = 200;

export interface Searched {
  /** Those of the last text that was answered. */
  readonly hits: readonly Hit[];
  readonly is: 'idle' | 'searching' | 'found' | 'failed';
}

const NONE: Searched = { hits: [], is: 'idle' };
const SEARCHING: Searched = { hits: [], is: 'searching' };

export function useSearch(text: string): Searched {
  const wanted = text.trim().slice(0, MAX);
  const asks = wanted.length >= FROM;
  const [found, setFound] = useState<{ text: string; searched: Searched } | null>(null);
  useEffect(() => {
    if (!asks) return;
    let gone = false;
    const take = (searched: Searched): void => {
      if (!gone) setFound({ text: wanted, searched });
    };
    const timer = window.setTimeout(() => {
      overviewApi.search(wanted).then(
        (hits) => take({ hits, is: 'found' }),
        () => take({ hits: [], is: 'failed' }),
      );
    }, WAIT_MS);
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, [wanted, asks]);
  if (!asks) return NONE;
  if (found?.text === wanted) return found.searched;
  return SEARCHING;
}
