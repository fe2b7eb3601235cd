/** Whose a shared sandbox is, where it is another member's. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { useStore } from '../../state/store';
import { ownerOf } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Avatar } from '../parts/Avatar';

interface OwnerMarkProps {
  readonly sandbox: Sandbox;
  /** Whether the name is written out beside the initials. */
  readonly named?: boolean;
}

export function OwnerMark({ sandbox, named = false }: OwnerMarkProps) {
  const owner = ownerOf(useStore(team), sandbox);
  if (owner === null) return null;
  return (
    <span className="owner-mark" title={t`${owner}’s, shared with the team`}>
      <Avatar name={owner} principal={sandbox.owner} />
      <span className={named ? '' : 'spoken'}>{t`${owner}’s`}</span>
    </span>
  );
}
