/** Makes a token, of oneself or of a service account, and shows its text this once. */

import { useState } from 'react';
import { Problem } from '../../api/call';
import { accountApi, type MadeToken } from '../../api/account';
import type { OrgRole } from '../../api/team';
import { t, worded } from '../../language/t';
import { areasOf, isReading } from '../../state/team/capabilities';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';
import { OnceShown } from '../parts/OnceShown';
import { Segments } from '../parts/Segments';

interface TokenDialogProps {
  readonly role: OrgRole;
  /** The service account that it is of; null: the caller. */
  readonly account: { readonly id: string; readonly name: string } | null;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

const TTLS = worded(() => [
  { value: '1d', words: t`1 day` },
  { value: '7d', words: t`7 days` },
  { value: '30d', words: t`30 days` },
  { value: '90d', words: t`90 days` },
  { value: '365d', words: t`1 year` },
]);
type May = 'read' | 'all' | 'chosen';
const MAY = worded<readonly { value: May; words: string }[]>(() => [
  { value: 'read', words: t`Only read` },
  { value: 'all', words: t`All that you may` },
  { value: 'chosen', words: t`Chosen things` },
]);
const MAX_NAME = 64;

export function TokenDialog({ role, account, onClose, onMade }: TokenDialogProps) {
  const areas = areasOf(role);
  const [name, setName] = useState('');
  const [ttl, setTtl] = useState('30d');
  const [may, setMay] = useState<May>('read');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [trouble, setTrouble] = useState<{ field: string | null; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<MadeToken | null>(null);
  const at = (field: string): string | null => (trouble?.field === field ? trouble.text : null);

  async function make(): Promise<void> {
    const lack = lackOf(name, may, chosen);
    setTrouble(lack);
    if (lack !== null) return;
    setBusy(true);
    const all = areas.flatMap(({ capabilities }) => capabilities);
    try {
      const token = await accountApi.makeToken({
        name: name.trim(),
        ttl,
        ...(account === null ? {} : { account: account.id }),
        ...(may === 'all' ? {} : { capabilities: may === 'read' ? all.filter(isReading) : chosen }),
      });
      setMade(token);
      onMade();
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      const known = ['name', 'ttl'].find((one) => one === reason.field) ?? null;
      setTrouble({ field: known, text: reason.message });
    } finally {
      setBusy(false);
    }
  }

  const title = account === null ? t`Make a token` : t`Make a token of ${account.name}`;
  if (made !== null) return <Made title={title} made={made} onClose={onClose} />;
  return (
    <Dialog title={title} onClose={onClose} wide>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        {trouble?.field === null && (
          <p className="form-trouble" role="alert">
            {trouble.text}
          </p>
        )}
        <div className="form-row">
          <Field
            label={t`Name`}
            hint={t`What uses it, such as “nightly build”`}
            trouble={at('name')}
            grow
          >
            {(wiring) => (
              <input
                {...wiring}
                data-first-focus
                autoComplete="off"
                maxLength={MAX_NAME}
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
          <Field label={t`Valid for`} trouble={at('ttl')}>
            {(wiring) => (
              <select {...wiring} value={ttl} onChange={(event) => setTtl(event.target.value)}>
                {TTLS().map(({ value, words }) => (
                  <option key={value} value={value}>
                    {words}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <Segments legend={t`It may`} choices={MAY()} chosen={may} onChoose={setMay} />
        {may === 'chosen' && (
          <div className="token-areas">
            {areas.map(({ words, capabilities }) => (
              <fieldset key={words}>
                <legend>{words}</legend>
                {capabilities.map((one) => (
                  <label key={one} className="check">
                    <input
                      type="checkbox"
                      checked={chosen.includes(one)}
                      onChange={() => setChosen((now) => toggled(now, one))}
                    />
                    {one}
                  </label>
                ))}
              </fieldset>
            ))}
          </div>
        )}
        <p className="quiet">
          {t`It approves nothing and logs nobody in, whatever it may do. Revoke it here at any time.`}
        </p>
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

function toggled(list: readonly string[], one: string): readonly string[] {
  return list.includes(one) ? list.filter((other) => other !== one) : [...list, one];
}

function lackOf(
  name: string,
  may: May,
  chosen: readonly string[],
): { field: string | null; text: string } | null {
  if (name.trim() === '') return { field: 'name', text: t`Give it a name.` };
  if (may === 'chosen' && chosen.length === 0) {
    return { field: null, text: t`Choose what it may do.` };
  }
  return null;
}

interface MadeProps {
  readonly title: string;
  readonly made: MadeToken;
  readonly onClose: () => void;
}

function Made({ title, made, onClose }: MadeProps) {
  return (
    <Dialog title={title} onClose={onClose} wide>
      <div className="form">
        <OnceShown label={t`Token`} value={made.token}>
          <p>
            {t`This is ${(<strong>{made.name}</strong>)}. It is shown once: copy it to where it is used, and send it to nobody.`}
          </p>
        </OnceShown>
        <footer className="dialog-foot">
          <button type="button" className="button button-primary" onClick={onClose}>
            {t`Done`}
          </button>
        </footer>
      </div>
    </Dialog>
  );
}
