/** Service accounts of a team: automation that has no login, and the tokens it works by. */

import { useEffect, useState } from 'react';
import { accountApi, type Token } from '../../api/account';
import { teamApi, type Member } from '../../api/team';
import { plural, t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import type { Team } from '../../state/team/rights';
import { loadTeam } from '../../state/team/team';
import { TokenDialog } from '../account/TokenDialog';
import { RevokeToken, TokenRow } from '../account/Tokens';
import { Icon } from '../parts/icons';
import { groupWords, MemberActs } from './Members';

export function Accounts({ ours }: { readonly ours: Team }) {
  const [name, setName] = useState('');
  const accounts = ours.members.filter(({ kind }) => kind !== 'adm');

  async function add(): Promise<void> {
    if (name.trim() === '') return;
    try {
      await teamApi.addAccount(ours.organization.organization_id, name.trim(), 'member');
      setName('');
      notify(t`${name.trim()} is there: make a token for it.`);
      await loadTeam();
    } catch (reason) {
      notifyFailure(t`Not added`)(reason);
    }
  }

  return (
    <section>
      <h2>{t`Service accounts`}</h2>
      {accounts.length > 0 && (
        <ul className="secrets" aria-label={t`Service accounts`}>
          {accounts.map((account) => (
            <AccountRow key={account.member_id} {...{ ours, account }} />
          ))}
        </ul>
      )}
      <form
        className="allow team-add"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <input
          aria-label={t`Name of a new service account`}
          placeholder={t`deploy`}
          autoComplete="off"
          maxLength={64}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <button type="submit" className="button" disabled={name.trim() === ''}>
          {t`Add`}
        </button>
      </form>
    </section>
  );
}

interface RowProps {
  readonly ours: Team;
  readonly account: Member;
}

function AccountRow({ ours, account }: RowProps) {
  const { member_id: id, name, role } = account;
  const [tokens, setTokens] = useState<readonly Token[]>([]);
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const load = (): void => {
    accountApi.tokens(id).then(setTokens, notifyFailure(t`Its tokens could not be listed`));
  };
  useEffect(() => {
    accountApi.tokens(id).then(setTokens, () => setTokens([]));
  }, [id]);
  return (
    <li className="secret">
      <Icon name="agent" />
      <div className="secret-words">
        <p className="secret-name">{name}</p>
        <p className="quiet">
          {t`${plural(tokens.length, { one: '# token', other: '# tokens' })} · approves nothing`}
          {account.groups.length > 0 && ` · ${groupWords(account)}`}
        </p>
      </div>
      <button
        type="button"
        className="button button-small"
        aria-label={t`Make a token of ${name}`}
        onClick={() => setMaking(true)}
      >
        {t`Token…`}
      </button>
      <MemberActs ours={ours} member={account} />
      {tokens.length > 0 && (
        <ul className="team-inner" aria-label={t`Tokens of ${name}`}>
          {tokens.map((token) => (
            <TokenRow key={token.id} token={token} onRevoke={() => setRevoking(token)} />
          ))}
        </ul>
      )}
      {making && (
        <TokenDialog
          role={role}
          account={{ id, name }}
          onClose={() => setMaking(false)}
          onMade={load}
        />
      )}
      {revoking !== null && (
        <RevokeToken token={revoking} onClose={() => setRevoking(null)} onDone={load} />
      )}
    </li>
  );
}
