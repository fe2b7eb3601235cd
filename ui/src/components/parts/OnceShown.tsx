/** A text to take along, with a button that copies it; some are shown once. */

import type { ReactNode } from 'react';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { copyText } from '../../state/clipboard';

interface OnceShownProps {
  readonly label: string;
  readonly value: string;
  readonly children: ReactNode;
}

export function OnceShown({ label, value, children }: OnceShownProps) {
  return (
    <div className="share-made" role="status">
      {children}
      <CopyLine label={label} value={value} />
    </div>
  );
}

/** For a link that names loopback: no other machine can open it. */
export function LocalOnly() {
  return (
    <p className="share-local">
      {t`It works on this machine only. For people elsewhere start Atoll with ${(<code>atoll up --lan</code>)}, or with ${(<code>--public-url</code>)} behind a tunnel.`}
    </p>
  );
}

/** A line that is copied as a whole: a link, a token, a command. */
export function CopyLine({ label, value }: Omit<OnceShownProps, 'children'>) {
  return (
    <div className="share-link">
      <input readOnly aria-label={label} value={value} onFocus={(event) => event.target.select()} />
      <button
        type="button"
        className="button"
        aria-label={t`Copy: ${label}`}
        onClick={() => void copy(value)}
      >
        {t`Copy`}
      </button>
    </div>
  );
}

/** A page that came over plain HTTP from another machine has no clipboard. */
async function copy(value: string): Promise<void> {
  try {
    await copyText(value);
    notify(t`Copied.`);
  } catch {
    notify(t`This page may not copy: select the text and press Ctrl-C.`, 'bad');
  }
}
