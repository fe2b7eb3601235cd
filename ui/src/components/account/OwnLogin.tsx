/** The login at a provider of the person who runs this Atoll, and the way to one. */

import { useState } from 'react';
import { accountApi, type OwnLogin as Own } from '../../api/account';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { keepLink } from '../../state/team/linking';
import { Confirm } from '../parts/Dialog';
import { Listed, useListed } from '../parts/Listed';

/** The same function at each showing. */
const ownLogin = () => accountApi.ownLogin();

export function OwnLogin() {
  const asked = useListed(ownLogin);
  return (
    <section>
      <h2>{t`Your login`}</h2>
      <Listed asked={asked} what={t`your login`} empty={null}>
        {([own]) => own !== undefined && <Row own={own} onEnded={asked.reload} />}
      </Listed>
    </section>
  );
}

function Row({ own, onEnded }: { readonly own: Own; readonly onEnded: () => void }) {
  const [ending, setEnding] = useState(false);
  const who = own.email === '' ? own.name : own.email;

  function begin(): void {
    accountApi.makeLink().then(keepLink, notifyFailure(t`No link was made`));
  }

  function end(): void {
    accountApi.endOwnLogin().then(
      () => {
        notify(t`${who} is somebody else from now on.`);
        onEnded();
      },
      notifyFailure(t`Your login was not ended`),
    );
  }

  return (
    <div className="secrets">
      <div className="secret">
        <div className="secret-words">
          <p className="secret-name">{own.linked ? who : t`You come in by login links alone`}</p>
          <p className="quiet">
            {own.linked
              ? t`This login is you, with all that is yours.`
              : t`Log in once at your provider, and stay the same person.`}
          </p>
        </div>
        {own.linked ? (
          <button type="button" className="button button-small" onClick={() => setEnding(true)}>
            {t`End…`}
          </button>
        ) : (
          <button type="button" className="button button-small" onClick={begin}>
            {t`Link your login`}
          </button>
        )}
      </div>
      {ending && (
        <Confirm
          title={t`End your login as ${who}?`}
          action={t`End the login`}
          danger
          onClose={() => setEnding(false)}
          onConfirm={end}
        >
          <p>
            {t`Its sessions end, maybe this one. What is yours stays yours: you come in by login links again.`}
          </p>
        </Confirm>
      )}
    </div>
  );
}
