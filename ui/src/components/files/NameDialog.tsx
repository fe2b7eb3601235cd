/** Asks for a name, or a path of the workspace. */

import { useState } from 'react';
import { t } from '../../language/t';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';
import { nameOf } from './tree';

interface NameDialogProps {
  readonly title: string;
  readonly action: string;
  /** The path it has now; '' where it is new. */
  readonly before: string;
  readonly onName: (path: string) => void;
  readonly onClose: () => void;
}

const PATH_MAX = 4000;

export function NameDialog({ title, action, before, onName, onClose }: NameDialogProps) {
  const [path, setPath] = useState(before);
  const trouble = troubleOf(path, before);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (trouble !== null) return;
          onClose();
          onName(path);
        }}
      >
        <Field label={before === '' ? t`Name` : t`Path in the workspace`} trouble={trouble}>
          {(wiring) => (
            <input
              {...wiring}
              data-first-focus
              maxLength={PATH_MAX}
              autoComplete="off"
              spellCheck={false}
              value={path}
              onChange={(event) => setPath(event.target.value)}
              onFocus={({ target }) => {
                const name = nameOf(before);
                const dot = name.lastIndexOf('.');
                const end = before.length - (dot > 0 ? name.length - dot : 0);
                target.setSelectionRange(before.length - name.length, end);
              }}
            />
          )}
        </Field>
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-primary" disabled={path === before}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Why it is no path; null where it is one. The server decides. */
function troubleOf(path: string, before: string): string | null {
  if (path === before) return null;
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    return t`A path of names in the workspace, such as src/a.txt.`;
  }
  return null;
}
