/** The team: its invitations, before a long list of members, what waits for an owner, quotas, and
 *  service accounts. */

import { t } from '../../language/t';
import { useStore } from '../../state/store';
import { mayAdminister } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Page } from '../parts/Page';
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
    <Page title={ours.organization.name} label={t`Team`} onMenu={onMenu}>
      {administers && <Invitations ours={ours} />}
      <Members ours={ours} />
      {administers && <Waiting ours={ours} />}
      <Quotas ours={ours} />
      {administers && <Accounts ours={ours} />}
    </Page>
  );
}
