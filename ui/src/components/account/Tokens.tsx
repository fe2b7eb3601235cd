/** Personal access tokens: for programs that act for somebody. Their text is shown once. */

import { useState } from 'react';
import { accountApi, type Token } from '../../api/account';
import type { OrgRole } from '../../api/team';
import { plural, t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { agoWords, duration, secondsUntil, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { Confirm } from '../parts/Dialog';
import { Icon } from '../parts/icons';
import { Listed, useListed } from '../parts/Listed';
import { Empty } from '../parts/States';
import { TokenDialog } from './TokenDialog';

/** The same function at each showing. */
const own = () => accountApi.tokens();

interface TokensProps {
  /** The role that bounds what a token may do. */
  readonly role: OrgRole;
}

export function Tokens({ role }: TokensProps) {
  const asked = useListed(own);
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token | null>(null);

  return (
    <section>
      <div className="team-head">
        <h2>{t`Personal access tokens`}</h2>
        <button type="button" className="button button-small" onClick={() => setMaking(true)}>
          <Icon name="plus" />
          {t`Make a token`}
        </button>
      </div>
      <Listed
        asked={asked}
        what={t`tokens`}
        empty={
          <Empty icon="key">{t`No tokens. A token lets a program call the API for you.`}</Empty>
        }
      >
        {(list) => (
          <ul className="secrets" aria-label={t`Tokens`}>
            {list.map((token) => (
              <TokenRow key={token.id} token={token} onRevoke={() => setRevoking(token)} />
            ))}
          </ul>
        )}
      </Listed>
      {making && (
        <TokenDialog
          role={role}
          account={null}
          onClose={() => setMaking(false)}
          onMade={asked.reload}
        />
      )}
      {revoking !== null && (
        <RevokeToken token={revoking} onClose={() => setRevoking(null)} onDone={asked.reload} />
      )}
    </section>
  );
}

interface RevokeProps {
  readonly token: Token;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RevokeToken({ token, onClose, onDone }: RevokeProps) {
  return (
    <Confirm
      title={t`Revoke ${token.name}?`}
      action={t`Revoke`}
      danger
      onClose={onClose}
      onConfirm={() => {
        accountApi.revokeToken(token.id).then(
          () => {
            notify(t`${token.name} was revoked.`);
            onDone();
          },
          notifyFailure(t`Not revoked`),
        );
      }}
    >
      <p>
        {t`It ends at once, with the tokens that were made by it. Connections that it has open close within seconds.`}
      </p>
    </Confirm>
  );
}

interface RowProps {
  readonly token: Omit<Token, 'parent'>;
  /** Whose it is, where it is not one's own. */
  readonly whose?: string;
  readonly onRevoke: () => void;
}

export function TokenRow({ token, whose, onRevoke }: RowProps) {
  const now = useStore(tick);
  const { name, capabilities, sandbox_id: sandbox, expires_at: end, used_at: used } = token;
  return (
    <li className="secret">
      <div className="secret-words">
        <p className="secret-name">
          {name}
          {whose !== undefined && <span className="quiet"> {t`of ${whose}`}</span>}
        </p>
        <p className="quiet">
          {`${used === null ? t`never used` : t`used ${agoWords(used, now)}`} · ${t`${duration(secondsUntil(end, now))} left`}`}
          {sandbox !== null && ` · ${t`of ${sandbox} alone`}`}
        </p>
        <details className="token-may">
          <summary>
            {t`may do ${plural(capabilities.length, { one: '# thing', other: '# things' })}`}
          </summary>
          <p className="secret-print">{capabilities.join(' ')}</p>
        </details>
      </div>
      <button
        type="button"
        className="button button-small button-destroy"
        aria-label={whose === undefined ? t`Revoke ${name}` : t`Revoke ${name} of ${whose}`}
        onClick={onRevoke}
      >
        {t`Revoke`}
      </button>
    </li>
  );
}
