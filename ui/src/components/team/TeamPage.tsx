/** The team: its invitations, before a long list of members, what waits for an owner, quotas, and
 *  service accounts. */

import { t } from '../../language/t';
import { useStore } from '../../state/store';
import { mayAdminister } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { MenuButton } from '../parts/MenuButton';
import { Accounts } from './Accounts';
import { Invitations } from './Invitations';
import { Members } from './Members';
import { Quotas } from './Quotas';
import { Waiting } from './Waiting';

export function TeamPage({ onMenu }: { readonly onMenu: () => void }) {
  const ours = useStore(team);
  if (ours === null) return null;
  const administers = mayAdminister(ours);
  return (
    <main className="page" aria-label={t`Team`}>
      <div className="page-body">
        <header className="page-head">
          <MenuButton onMenu={onMenu} />
          <h1>{ours.organization.name}</h1>
        </header>
        {administers && <Invitations ours={ours} />}
        <Members ours={ours} />
        {administers && <Waiting ours={ours} />}
        <Quotas ours={ours} />
        {administers && <Accounts ours={ours} />}
      </div>
    </main>
  );
}
