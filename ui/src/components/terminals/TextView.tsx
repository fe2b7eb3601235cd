/** A terminal's screen and scrollback as plain text, for reading and screen readers. */

import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { Dialog } from '../parts/Dialog';

export function TextView({
  text,
  onClose,
}: {
  readonly text: string;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={t`Terminal as text`} onClose={onClose} wide>
      <pre className="text-view" tabIndex={0}>
        {text === '' ? t`(nothing yet)` : text}
      </pre>
      <footer className="dialog-foot">
        <button
          type="button"
          className="button"
          onClick={() => {
            void navigator.clipboard.writeText(text).then(() => notify(t`Copied.`));
          }}
        >
          {t`Copy all`}
        </button>
        <button type="button" className="button button-primary" onClick={onClose}>
          {t`Done`}
        </button>
      </footer>
    </Dialog>
  );
}
