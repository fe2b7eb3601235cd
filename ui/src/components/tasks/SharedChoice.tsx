/** Whether a new sandbox is the whole team's to find; nothing where there is no team. */

import { t } from '../../language/t';
import { useStore } from '../../state/store';
import { team } from '../../state/team/team';

interface SharedChoiceProps {
  readonly shared: boolean;
  readonly onChange: (shared: boolean) => void;
}

export function SharedChoice({ shared, onChange }: SharedChoiceProps) {
  const ours = useStore(team);
  if (ours === null) return null;
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={shared}
        onChange={(event) => onChange(event.target.checked)}
      />
      {t`Share it with ${ours.organization.name}: members drive by turns, viewers watch`}
    </label>
  );
}
