/** The page of secrets and approvals. */

import { t } from '../../language/t';
import { DriveSection } from '../drive/DriveSection';
import { Inbox } from '../inbox/Inbox';
import { Logins } from '../logins/Logins';
import { Page } from '../parts/Page';
import { Granted, Secrets } from './Secrets';

export function SecretsPage({ onMenu }: { readonly onMenu: () => void }) {
  return (
    <Page title={t`Secrets and approvals`} label={t`Secrets`} onMenu={onMenu}>
      <p className="quiet">
        {t`A value is never shown again once it is saved. Sandboxes hold placeholders; the real ones are put in outside of them, on the way to the hosts they are for.`}
      </p>
      <Inbox />
      <Secrets />
      <Logins />
      <Granted />
      {/* Last: where no Drive is offered it goes again, and may move nothing that is pressed. */}
      <DriveSection />
    </Page>
  );
}
