/** The page after a fault of its own: what is known, and the way back. Nothing of it is sent. */

import { Component, type ReactNode } from 'react';
import { t } from '../../language/t';
import { Mark } from '../parts/icons';

interface Fault {
  readonly error: Error | null;
}

export class WhenBroken extends Component<{ readonly children: ReactNode }, Fault> {
  override state: Fault = { error: null };

  static getDerivedStateFromError(error: unknown): Fault {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return <Broken message={error.message} />;
  }
}

export function Broken({ message }: { readonly message: string }) {
  return (
    <main className="welcome">
      <div className="welcome-card" role="alert">
        <Mark />
        <h1>{t`The page broke`}</h1>
        <p>
          {t`This is a fault of the page, not of your work: sandboxes, terminals and agents go on. Load the page again.`}
        </p>
        <pre className="command">
          <code>{message}</code>
        </pre>
        <div className="welcome-acts">
          <button
            type="button"
            className="button button-primary"
            onClick={() => window.location.reload()}
          >
            {t`Reload`}
          </button>
        </div>
      </div>
    </main>
  );
}
