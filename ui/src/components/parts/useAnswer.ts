/** The answer to one question to the server, while a part of the page is shown. */

import { useEffect, useState } from 'react';

export interface Answer<T> {
  /** Null until it is there. */
  readonly value: T | null;
  /** Why there is none; null while there may be one. */
  readonly problem: Error | null;
}

const NONE: Answer<never> = { value: null, problem: null };

/** Asks about `key`, and again when that changes; a late answer about another key is dropped.
 *  `ask` is the same function at each call, as one of an API is. */
export function useAnswer<T>(ask: (key: string) => Promise<T>, key: string): Answer<T> {
  const [found, setFound] = useState<{ key: string; answer: Answer<T> } | null>(null);
  useEffect(() => {
    let gone = false;
    const take = (answer: Answer<T>): void => {
      if (!gone) setFound({ key, answer });
    };
    ask(key).then(
      (value) => take({ value, problem: null }),
      (reason: unknown) => {
        const problem = reason instanceof Error ? reason : new Error(String(reason));
        take({ value: null, problem });
      },
    );
    return () => {
      gone = true;
    };
  }, [ask, key]);
  return found?.key === key ? found.answer : NONE;
}
