/** The dialogs of the list: a new dashboard from a template, a new name, a copy. */

import { useState } from 'react';
import { Dialog } from '../../components/parts/Dialog';
import { Field } from '../../components/parts/Field';
import { Segments } from '../../components/parts/Segments';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { team } from '../../state/team/team';
import { dashboardsApi, TEMPLATES, type Dashboard } from './api';

const MAX_NAME = 120;

export function NewDialog({ onClose }: { readonly onClose: () => void }) {
  const ours = useStore(team) !== null;
  const [name, setName] = useState('');
  const [template, setTemplate] = useState('blank');
  const [scope, setScope] = useState<Dashboard['scope']>('private');
  const [busy, setBusy] = useState(false);

  async function make(): Promise<void> {
    setBusy(true);
    try {
      const words = name.trim() || t`Untitled`;
      const made = await dashboardsApi.create({ name: words, scope, template });
      onClose();
      goTo('dashboards', made.id);
    } catch (reason) {
      notifyFailure(t`No dashboard could be made`)(reason);
      setBusy(false);
    }
  }

  return (
    <Dialog title={t`New dashboard`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <Field label={t`Name`} trouble={null}>
          {(wiring) => (
            <input
              {...wiring}
              data-first-focus
              autoComplete="off"
              maxLength={MAX_NAME}
              placeholder={t`Untitled`}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <fieldset className="form-group">
          <legend>{t`Begins with`}</legend>
          <div className="templates">
            {TEMPLATES().map(({ id, words, note }) => (
              <label key={id} className="template">
                <input
                  type="radio"
                  name="template"
                  checked={id === template}
                  onChange={() => setTemplate(id)}
                />
                <Sketch of={id} />
                <span className="template-words">{words}</span>
                <span className="template-note">{note}</span>
              </label>
            ))}
          </div>
        </fieldset>
        {ours && (
          <Segments
            legend={t`Who can see it`}
            choices={[
              { value: 'private', words: t`Only me` },
              { value: 'shared', words: t`The team` },
            ]}
            chosen={scope}
            onChoose={setScope}
          />
        )}
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-primary" disabled={busy}>
            {t`Make it`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** A few boxes that show what a template is like. */
function Sketch({ of }: { readonly of: string }) {
  const boxes: Readonly<Record<string, readonly string[]>> = {
    blank: [],
    'agent-and-notes': ['M8 8h50v44H8Z', 'M64 8h24v20H64Z', 'M64 32h24v20H64Z'],
    review: ['M8 8h24v44H8Z', 'M36 8h24v44H36Z', 'M64 8h24v44H64Z'],
  };
  return (
    <svg className="template-sketch" viewBox="0 0 96 60" aria-hidden="true">
      {(boxes[of] ?? []).map((path) => (
        <path key={path} d={path} />
      ))}
    </svg>
  );
}

interface NameDialogProps {
  readonly act: 'rename' | 'copy';
  readonly dashboard: Dashboard;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function NameDialog({ act, dashboard, onDone, onClose }: NameDialogProps) {
  const copies = act === 'copy';
  const [name, setName] = useState(copies ? t`${dashboard.name} (copy)` : dashboard.name);

  async function keep(): Promise<void> {
    const words = name.trim();
    if (words === '') return;
    try {
      if (copies) await dashboardsApi.copy(dashboard.id, words);
      else await dashboardsApi.change(dashboard.id, { name: words });
      onClose();
      onDone();
    } catch (reason) {
      notifyFailure(copies ? t`It could not be copied` : t`It could not be renamed`)(reason);
    }
  }

  return (
    <Dialog title={copies ? t`Copy` : t`Rename`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void keep();
        }}
      >
        <Field
          label={t`Name`}
          {...(copies ? { hint: t`Terminals are not copied.` } : {})}
          trouble={null}
        >
          {(wiring) => (
            <input
              {...wiring}
              data-first-focus
              autoComplete="off"
              maxLength={MAX_NAME}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-primary">
            {copies ? t`Copy` : t`Rename`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
