/** Parts of the page that are fetched when they are first shown. */

import { Component, lazy, Suspense, type ComponentType, type ReactNode } from 'react';
import { t } from '../../language/t';
import { Loading, Trouble } from './States';

/** The server has another version of the page by now, or cannot be reached. */
class PartMissing extends Error {}

/**
 * A component in a file of its own. Bars stand in its place until it is here; if it cannot be
 * fetched, a button loads the page anew.
 */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  const Part = lazy(async () => {
    try {
      return { default: await load() };
    } catch (reason) {
      throw new PartMissing(t`a part of the page could not be fetched`, { cause: reason });
    }
  });
  return function Later(props: Props) {
    return (
      <Guard>
        <Suspense fallback={<Loading what={t`this part of the page`} />}>
          <Part {...props} />
        </Suspense>
      </Guard>
    );
  };
}

interface Failure {
  readonly error: Error | null;
}

class Guard extends Component<{ readonly children: ReactNode }, Failure> {
  override state: Failure = { error: null };

  static getDerivedStateFromError(error: unknown): Failure {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    // Any other error is not this guard's: what is wrong must be seen.
    if (!(error instanceof PartMissing)) throw error;
    return <Missing />;
  }
}

/** A browser keeps a failed import for as long as the page lives, so only a reload can help. */
export function Missing() {
  const reload = (
    <button type="button" className="button" onClick={() => window.location.reload()}>
      {t`Reload`}
    </button>
  );
  return (
    <Trouble title={t`This part of the page could not be loaded`} act={reload}>
      {navigator.onLine
        ? t`A newer version of the page may be there, or the server does not answer.`
        : t`This device is offline. Reload when it is back.`}
    </Trouble>
  );
}
