/** The keys of a review, and the dialog that names them. */

import type { KeyboardEvent } from 'react';
import { t, worded } from '../../language/t';
import { Dialog } from '../parts/Dialog';

type Named = readonly (readonly [readonly string[], string])[];

const KEYS = worded<Named>(() => [
  [['j', 'k'], t`next and previous file`],
  [['n', 'p'], t`next and previous change in the file`],
  [['↓', '↑'], t`next and previous line`],
  [['v'], t`mark the file as seen, or as not seen`],
  [['s', 'u'], t`side by side, or in one column`],
  [['?'], t`these keys`],
]);

/** Those of whoever changes something. */
const WORK_KEYS = worded<Named>(() => [
  [['c'], t`comment on the line, or answer the thread`],
  [['x'], t`discard the change, after a question; before any line is chosen the file`],
  [['Ctrl+Enter'], t`send the comments: when the agent is done, at once where it does not work`],
  [['Ctrl+Shift+Enter'], t`send the comments now`],
]);

interface ReviewKeysProps {
  readonly works: boolean;
  readonly onClose: () => void;
}

export function ReviewKeys({ works, onClose }: ReviewKeysProps) {
  return (
    <Dialog title={t`Keys of the review`} onClose={onClose}>
      <KeyList works={works} />
    </Dialog>
  );
}

/** The keys and what they do; those that change something for whoever may. */
export function KeyList({ works }: { readonly works: boolean }) {
  return (
    <dl className="review-keys">
      {[...KEYS(), ...(works ? WORK_KEYS() : [])].map(([keys, words]) => (
        <div key={words}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{words}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Keys of the pane; a text field and a dialog keep their own. On a Mac Cmd is Ctrl. */
export function onKeys(keys: Readonly<Record<string, () => void>>): (event: KeyboardEvent) => void {
  return (event) => {
    const withCommand = event.ctrlKey || event.metaKey;
    if (event.altKey || (withCommand && event.key !== 'Enter')) return;
    if (inside(event.target, 'input, textarea, select, .dialog, .pop-body')) return;
    // eslint-disable-next-line words/written -- a key of `keys`, which nobody reads
    const name = `${withCommand ? 'Ctrl+' : ''}${withCommand && event.shiftKey ? 'Shift+' : ''}`;
    const act = keys[name + event.key];
    if (act === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
}

function inside(target: EventTarget, selector: string): boolean {
  return target instanceof Element && target.closest(selector) !== null;
}
