/** The tokens of other members, which an administrator ends. */

import { useCallback, useState } from 'react';
import { accountApi, type TeamToken } from '../../api/account';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import type { Team } from '../../state/team/rights';
import { TokenRow } from '../account/Tokens';
import { Confirm } from '../parts/Dialog';
import { Listed, useListed } from '../parts/Listed';
import { Empty } from '../parts/States';

export function TeamTokens({ ours }: { readonly ours: Team }) {
  const organization = ours.organization.organization_id;
  const { me, members } = ours;
  const others = useCallback(
    async () => (await accountApi.teamTokens(organization)).filter(({ owner }) => owner !== me),
    [organization, me],
  );
  const asked = useListed(others);
  const [revoking, setRevoking] = useState<TeamToken | null>(null);
  const whose = ({ owner }: TeamToken): string =>
    members.find(({ member_id: id }) => id === owner)?.name ?? owner;

  return (
    <section>
      <h2>{t`Tokens of others`}</h2>
      <Listed
        asked={asked}
        what={t`tokens of others`}
        empty={<Empty icon="key">{t`Nobody else has a token.`}</Empty>}
      >
        {(list) => (
          <ul className="secrets" aria-label={t`Tokens of others`}>
            {list.map((token) => (
              <TokenRow
                key={token.id}
                token={token}
                whose={whose(token)}
                onRevoke={() => setRevoking(token)}
              />
            ))}
          </ul>
        )}
      </Listed>
      {revoking !== null && (
        <Confirm
          title={t`Revoke ${revoking.name} of ${whose(revoking)}?`}
          action={t`Revoke`}
          danger
          onClose={() => setRevoking(null)}
          onConfirm={() => {
            accountApi.revokeTeamToken(organization, revoking.id).then(
              () => {
                notify(t`${revoking.name} of ${whose(revoking)} was revoked.`);
                asked.reload();
              },
              notifyFailure(t`Not revoked`),
            );
          }}
        >
          <p>
            {t`What works with it stops at once, with the tokens that were made by it, and its open connections close within seconds. ${whose(revoking)} reads in the log that you did so. This cannot be undone: they have to make another one.`}
          </p>
        </Confirm>
      )}
    </section>
  );
}
