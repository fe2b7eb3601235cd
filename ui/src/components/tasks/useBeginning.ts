/** Asks the server what it has of a repository, once somebody is about to name a branch of it. */

import { useState } from 'react';
import { api } from '../../api/client';
import {
  beginningWords,
  isSent,
  type Refs,
  type RepositoryPlace,
  type TypedBranch,
} from './beginning';

interface Looked {
  readonly at: string;
  /** Null until they are there. */
  readonly refs: Refs | null;
}

/** The branches and tags of a repository, as the server has them now. */
export async function refsAt(place: RepositoryPlace): Promise<Refs> {
  const { key, address } = place;
  const found =
    key !== null && isSent(place) ? await api.uploaded(key) : await api.fetchRepository(address);
  return found.refs;
}

export interface Beginning {
  readonly words: string | null;
  /** Asks what the server has; a checkout may have been sent meanwhile. */
  readonly look: () => void;
}

export function useBeginning(place: RepositoryPlace | null, typed: TypedBranch): Beginning {
  const [looked, setLooked] = useState<Looked | null>(null);
  const at = place === null ? '' : (place.key ?? place.address);

  function look(): void {
    if (place === null || at === '' || (looked?.at === at && !isSent(place))) return;
    setLooked((now) => (now?.at === at ? now : { at, refs: null }));
    refsAt(place).then(
      (refs) => setLooked((now) => (now?.at === at ? { at, refs } : now)),
      // What is wrong with it is said when it is used.
      () => setLooked((now) => (now?.at === at ? null : now)),
    );
  }

  const refs = looked?.at === at ? looked.refs : null;
  const words = refs === null || place === null ? null : beginningWords(refs, typed, place);
  return { words, look };
}
