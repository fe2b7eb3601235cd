/** One's own account: the name others see, the organization, where one is logged in, tokens and
 * SSH keys. */

import { useState } from 'react';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { login, rename } from '../../state/login';
import { realms } from '../../state/realms';
import { useStore } from '../../state/store';
import { leave } from '../../state/team/entering';
import { roleName, stayWords, type Team } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Avatar } from '../parts/Avatar';
import { Confirm } from '../parts/Dialog';
import { Page } from '../parts/Page';
import { DriveSection } from '../drive/DriveSection';
import { OwnLogin } from './OwnLogin';
import { Sessions } from './Sessions';
import { SshKeys } from './SshKeys';
import { Tokens } from './Tokens';

const MAX_NAME = 64;

/** The id of the person who runs the installation. */
const LOCAL = 'person';

export function AccountPage({ onMenu }: { readonly onMenu: () => void }) {
  const who = useStore(login);
  const ours = useStore(team);
  const { mode } = useStore(realms);
  const name = who.is === 'in' ? who.name : '';
  return (
    <Page title={t`Your account`} onMenu={onMenu}>
      <section>
        <h2>{t`You`}</h2>
        <div className="secrets">
          <NameRow key={name} name={name} principal={ours?.me ?? name} />
          {ours === null ? (
            <p className="secret quiet">
              {t`You belong to no organization. Ask for an invitation’s link and open it here.`}
            </p>
          ) : (
            <OrganizationRow ours={ours} />
          )}
        </div>
      </section>
      {ours?.me === LOCAL && mode === 'oidc' && <OwnLogin />}
      <Sessions />
      <Tokens role={ours?.organization.role ?? 'owner'} />
      <SshKeys />
      {/* Last: where no Drive is offered it goes again, and may move nothing that is pressed. */}
      <DriveSection />
    </Page>
  );
}

function NameRow({ name, principal }: { readonly name: string; readonly principal: string }) {
  const [draft, setDraft] = useState(name);
  const changed = draft.trim() !== '' && draft.trim() !== name;
  return (
    <form
      className="secret"
      onSubmit={(event) => {
        event.preventDefault();
        if (!changed) return;
        rename(draft.trim()).then(
          () => notify(t`Others see your new name from now on.`),
          notifyFailure(t`Your name was not changed`),
        );
      }}
    >
      <Avatar name={name} principal={principal} />
      <label className="team-field">
        <span className="spoken">{t`Your name, as others see it`}</span>
        <input
          autoComplete="nickname"
          maxLength={MAX_NAME}
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
        />
      </label>
      <button type="submit" className="button button-small" disabled={!changed}>
        {t`Save the name`}
      </button>
    </form>
  );
}

function OrganizationRow({ ours }: { readonly ours: Team }) {
  const [leaving, setLeaving] = useState(false);
  const { organization } = ours;
  const stays = stayWords(ours);
  return (
    <div className="secret">
      <div className="secret-words">
        <p className="secret-name">{organization.name}</p>
        <p className="quiet">
          {roleName(organization.role)}
          {stays !== null && ` · ${stays}`}
        </p>
      </div>
      {stays === null && (
        <button
          type="button"
          className="button button-small button-destroy"
          onClick={() => setLeaving(true)}
        >
          {t`Leave…`}
        </button>
      )}
      {leaving && (
        <Confirm
          title={t`Leave ${organization.name}?`}
          action={t`Leave`}
          danger
          onClose={() => setLeaving(false)}
          onConfirm={() =>
            void leave(organization.organization_id, organization.name).catch(
              notifyFailure(t`You have not left`),
            )
          }
        >
          <p>
            {t`Your sandboxes stop, keep their files, and wait for a new owner. Your secrets, links and tokens there end at once. Only an invitation brings you back.`}
          </p>
        </Confirm>
      )}
    </div>
  );
}
