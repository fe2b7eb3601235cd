/** The groups of a member, as words: for rules of other systems, nothing is granted by them here. */

import { useState } from 'react';
import { Problem } from '../../api/call';
import { teamApi, type Member } from '../../api/team';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { groupsIn, type Team } from '../../state/team/rights';
import { loadTeam } from '../../state/team/team';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';

interface GroupsDialogProps {
  readonly ours: Team;
  readonly member: Member;
  readonly onClose: () => void;
}

export function GroupsDialog({ ours, member, onClose }: GroupsDialogProps) {
  const { member_id: id, name, groups } = member;
  const [text, setText] = useState(groups.join(' '));
  const [trouble, setTrouble] = useState<string | null>(null);

  async function save(): Promise<void> {
    try {
      await teamApi.changeMember(ours.organization.organization_id, id, { groups: groupsIn(text) });
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble(reason.message);
      return;
    }
    onClose();
    notify(t`The groups of ${name} are set.`);
    await loadTeam();
  }

  return (
    <Dialog title={t`Groups of ${name}`} onClose={onClose}>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <Field
          label={t`Groups`}
          hint={t`With blanks between them. Other systems read them; they allow nothing here.`}
          trouble={trouble}
        >
          {(wiring) => (
            <input
              {...wiring}
              data-first-focus
              autoComplete="off"
              autoCapitalize="off"
              spellCheck={false}
              placeholder={t`dev on-call`}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-primary">
            {t`Set the groups`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
