/**
 * A server inside a sandbox, shown in a frame.
 *
 * The frame has an origin of its own, where nothing of this page is: no cookie, no storage, no API.
 * So its own scripts, forms and storage may work there.
 */

import { useEffect, useState } from 'react';
import { t } from '../../language/t';
import { linkTo, openPort } from '../../state/previews/ports';
import { Icon } from '../parts/icons';

const ALLOWED =
  'allow-scripts allow-same-origin allow-forms allow-modals allow-popups allow-downloads';

interface PreviewFrameProps {
  readonly sandboxId: string;
  readonly port: number;
  /** Where it begins. */
  readonly path?: string;
}

type Shown = { readonly url: string } | { readonly problem: string };

export function PreviewFrame({ sandboxId, port, path = '/' }: PreviewFrameProps) {
  const [shown, setShown] = useState<Shown | null>(null);
  const [visit, setVisit] = useState(0);

  useEffect(() => {
    let gone = false;
    // Each link is good for one use: a frame that loads anew needs another.
    linkTo(sandboxId, port, path).then(
      ({ url }) => {
        if (!gone) setShown({ url });
      },
      (reason: unknown) => {
        const problem = reason instanceof Error ? reason.message : String(reason);
        if (!gone) setShown({ problem });
      },
    );
    return () => {
      gone = true;
    };
  }, [sandboxId, port, path, visit]);

  return (
    <section className="preview" aria-label={t`Preview of port ${port}`}>
      <header className="preview-bar">
        <Icon name="network" />
        <span className="preview-name">
          {t`port ${port}`}
          {path !== '/' && path}
        </span>
        <span className="spring" />
        <button
          type="button"
          className="button-icon"
          aria-label={t`Load again`}
          onClick={() => {
            setShown(null);
            setVisit((now) => now + 1);
          }}
        >
          <Icon name="recreate" />
        </button>
        <button
          type="button"
          className="button-icon"
          aria-label={t`Open in a tab`}
          onClick={() => void openPort(sandboxId, port, path)}
        >
          <Icon name="alone" />
        </button>
      </header>
      {shown !== null && 'url' in shown && (
        <iframe
          className="preview-frame"
          title={t`Port ${port}`}
          src={shown.url}
          sandbox={ALLOWED}
          referrerPolicy="no-referrer"
        />
      )}
      {shown !== null && 'problem' in shown && (
        <p className="preview-problem" role="alert">
          {shown.problem}
        </p>
      )}
    </section>
  );
}
