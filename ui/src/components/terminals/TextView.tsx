/** A terminal's screen and scrollback as plain text, for reading and screen readers. */

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
    <Dialog title="Terminal as text" onClose={onClose} wide>
      <pre className="text-view" tabIndex={0}>
        {text === '' ? '(nothing yet)' : text}
      </pre>
      <footer className="dialog-foot">
        <button
          type="button"
          className="button"
          onClick={() => {
            void navigator.clipboard.writeText(text).then(() => notify('Copied.'));
          }}
        >
          Copy all
        </button>
        <button type="button" className="button button-primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}
