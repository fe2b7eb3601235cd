/** Gives a sandbox or a dashboard to another member, saying what goes along. */

import { useState } from 'react';
import { Problem } from '../../api/call';
import { teamApi } from '../../api/team';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { useStore } from '../../state/store';
import { heirs } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';

/** What is given away. */
export interface Given {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  /** Gives it, and what that means; without, it is a sandbox. */
  readonly how?: { readonly give: (member: string) => Promise<unknown>; readonly words: string };
}

interface GiveDialogProps {
  readonly given: Given;
  readonly onClose: () => void;
  readonly onGiven: () => void;
}

export function GiveDialog({ given, onClose, onGiven }: GiveDialogProps) {
  const { id: thing, how } = given;
  const ours = useStore(team);
  const people = ours === null ? [] : heirs(ours, given.owner);
  const [member, setMember] = useState('');
  const [trouble, setTrouble] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  async function give(): Promise<void> {
    const to = people.find(({ member_id: id }) => id === member);
    if (to === undefined) {
      setTrouble(t`Choose a member.`);
      return;
    }
    setBusy(true);
    try {
      await (how === undefined ? teamApi.give(thing, member) : how.give(member));
      notify(t`${given.name} belongs to ${to.name} now.`);
      onGiven();
      onClose();
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble(reason.message);
      setBusy(false);
    }
  }

  return (
    <Dialog title={t`Give ${given.name} to a member`} onClose={onClose}>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void give();
        }}
      >
        <Field label={t`To`} trouble={trouble}>
          {(wiring) => (
            <select
              {...wiring}
              data-first-focus
              value={member}
              onChange={(event) => setMember(event.target.value)}
            >
              <option value="">{t`Choose…`}</option>
              {people.map(({ member_id: id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <p className="quiet">
          {how?.words ??
            t`It is stopped first, and goes along with its files and history. Its links end, and secrets for it alone are removed.`}
        </p>
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-primary" disabled={busy}>
            {busy ? t`Giving…` : t`Give it`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
