/** A list of the server's with its states: it loads, it failed, it is empty, or it is there. */

import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import { t } from '../../language/t';
import { Loading, Trouble } from './States';

export interface AskedList<T> {
  /** Null until it is there; an older one stays while a newer is asked for. */
  readonly list: readonly T[] | null;
  readonly problem: Error | null;
  readonly reload: () => void;
}

/** Asks for a list, again when `moved` changes, and by `reload`. `ask` is the same function at each
 *  call; the answer to an earlier question is dropped. */
export function useListed<T>(
  ask: () => Promise<readonly T[]>,
  moved: unknown = null,
): AskedList<T> {
  const [list, setList] = useState<readonly T[] | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const newest = useRef(0);
  const reload = useCallback(() => {
    newest.current += 1;
    const mine = newest.current;
    ask().then(
      (found) => {
        if (mine !== newest.current) return;
        setList(found);
        setProblem(null);
      },
      (reason: unknown) => {
        if (mine !== newest.current) return;
        setProblem(reason instanceof Error ? reason : new Error(String(reason)));
      },
    );
  }, [ask]);
  useEffect(() => {
    reload();
    return () => {
      newest.current += 1;
    };
  }, [reload, moved]);
  return { list, problem, reload };
}

interface ListedProps<T> {
  readonly asked: AskedList<T>;
  /** What is listed, in the plural: “secrets”. */
  readonly what: string;
  readonly empty: ReactNode;
  readonly children: (list: readonly T[]) => ReactNode;
}

export function Listed<T>({ asked, what, empty, children }: ListedProps<T>) {
  const { list, problem, reload } = asked;
  const retry = (
    <button type="button" className="button button-small" onClick={reload}>
      {t`Try again`}
    </button>
  );
  return (
    <>
      {problem !== null && (
        <Trouble title={t`The ${what} could not be listed`} act={retry}>
          {problem.message}
        </Trouble>
      )}
      {list === null && problem === null && <Loading what={t`the ${what}`} />}
      {list !== null && (list.length === 0 ? empty : children(list))}
    </>
  );
}
