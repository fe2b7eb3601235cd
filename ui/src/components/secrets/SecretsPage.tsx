/** The page of secrets and approvals. */

import { t } from '../../language/t';
import { DriveSection } from '../drive/DriveSection';
import { Inbox } from '../inbox/Inbox';
import { Logins } from '../logins/Logins';
import { MenuButton } from '../parts/MenuButton';
import { Granted, Secrets } from './Secrets';

export function SecretsPage({ onMenu }: { readonly onMenu: () => void }) {
  return (
    <main className="page" aria-label={t`Secrets`}>
      <div className="page-body">
        <header className="page-head">
          <MenuButton onMenu={onMenu} />
          <h1>{t`Secrets and approvals`}</h1>
        </header>
        <p className="quiet">
          {t`A value is never shown again once it is saved. Sandboxes hold placeholders; the real ones are put in outside of them, on the way to the hosts they are for.`}
        </p>
        <Inbox />
        <Secrets />
        <Logins />
        <DriveSection />
        <Granted />
      </div>
    </main>
  );
}
