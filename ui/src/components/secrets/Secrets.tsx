/** Secrets, of which only fingerprints are ever shown, and approvals in force: lists of pages. */

import { useState } from 'react';
import { api } from '../../api/client';
import type { Approval, Secret } from '../../api/types';
import { t, worded } from '../../language/t';
import { approvals, revoke } from '../../state/approvals';
import { notify, notifyFailure } from '../../state/announce';
import { sandboxes, secretsMoved } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { mayChangeSecret } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Confirm } from '../parts/Dialog';
import { Icon } from '../parts/icons';
import { Listed, useListed } from '../parts/Listed';
import { Empty } from '../parts/States';
import { Lines } from '../inbox/InboxItems';
import { RotateDialog, SecretDialog } from './SecretDialog';
import { profileWords, purposeWords } from '../parts/words';

/** The same function at each showing. */
const secrets = () => api.secrets();

/** What lies over the page. */
type Over =
  | { readonly is: 'new' }
  | { readonly is: 'rotate'; readonly secret: Secret }
  | { readonly is: 'remove'; readonly secret: Secret };

export function Secrets() {
  const [over, setOver] = useState<Over | null>(null);
  const asked = useListed(secrets, useStore(secretsMoved));
  const close = (): void => setOver(null);

  const reload = (): void => secretsMoved.set((now) => now + 1);

  return (
    <section>
      <div className="team-head">
        <h2>{t`Secrets`}</h2>
        <button
          type="button"
          className="button button-primary"
          onClick={() => setOver({ is: 'new' })}
        >
          <Icon name="plus" />
          {t`Set a secret`}
        </button>
      </div>
      <Listed
        asked={asked}
        what={t`secrets`}
        empty={<Empty icon="key">{t`No secrets yet.`}</Empty>}
      >
        {(list) => (
          <ul className="secrets" aria-label={t`Secrets`}>
            {list.map((secret) => (
              <Row
                key={secret.secret_id}
                secret={secret}
                onRotate={() => setOver({ is: 'rotate', secret })}
                onRemove={() => setOver({ is: 'remove', secret })}
              />
            ))}
          </ul>
        )}
      </Listed>
      {over?.is === 'new' && <SecretDialog onClose={close} onDone={reload} />}
      {over?.is === 'rotate' && (
        <RotateDialog secret={over.secret} onClose={close} onDone={reload} />
      )}
      {over?.is === 'remove' && (
        <Confirm
          title={t`Remove ${over.secret.name}?`}
          action={t`Remove`}
          danger
          onClose={close}
          onConfirm={() => void remove(over.secret).then(reload)}
        >
          <p>{t`It is removed from every running sandbox at once. Programs that need it will fail.`}</p>
        </Confirm>
      )}
    </section>
  );
}

async function remove(secret: Secret): Promise<void> {
  try {
    await api.removeSecret(secret);
    notify(t`${secret.name} was removed.`);
  } catch (reason) {
    notifyFailure(t`Not removed`)(reason);
  }
}

interface RowProps {
  readonly secret: Secret;
  readonly onRotate: () => void;
  readonly onRemove: () => void;
}

function Row({ secret, onRotate, onRemove }: RowProps) {
  const { name, fingerprint, last4, version, broker_protected: brokered } = secret;
  const allowed = mayChangeSecret(useStore(team), secret.scope);
  // A drive is connected and disconnected, by its own section.
  const changes = allowed && secret.kind !== 'drive';
  return (
    <li className="secret">
      <div className="secret-words">
        <p className="secret-name">
          {name}
          {!brokered && <span className="badge badge-bad">{t`exposed inside`}</span>}
        </p>
        <p className="quiet">
          {purposeWords(secret)} · <Scope scope={secret.scope} /> · {t`version ${version}`}
          {!allowed && ` · ${t`changed by its administrators`}`}
        </p>
      </div>
      <p className="secret-print" title={t`Fingerprint and the last four characters`}>
        {fingerprint.slice(0, 16)}
        {last4 !== '' && <span> …{last4}</span>}
      </p>
      {changes && (
        <div className="secret-acts">
          <button type="button" className="button button-small" onClick={onRotate}>
            {t`Rotate`}
          </button>
          <button type="button" className="button button-small button-destroy" onClick={onRemove}>
            {t`Remove`}
          </button>
        </div>
      )}
    </li>
  );
}

function Scope({ scope }: { readonly scope: string }) {
  const list = useStore(sandboxes) ?? [];
  const [kind, id] = scope.split(':');
  if (kind === 'person') return <>{t`all my sandboxes`}</>;
  if (kind === 'organization') return <>{t`the organization`}</>;
  if (kind === 'profile' && id !== undefined) return <>{t`profile ${profileWords(id)}`}</>;
  return (
    <>
      {t`sandbox`} {list.find(({ sandbox_id: one }) => one === id)?.name ?? id}
    </>
  );
}

/** The approvals in force; nothing where there are none. */
export function Granted() {
  const granted = useStore(approvals) ?? [];
  if (granted.length === 0) return null;
  return (
    <section>
      <h2>{t`Approvals in force`}</h2>
      <ul className="asks">
        {granted.map((approval) => (
          <Standing key={approval.approval_id} approval={approval} />
        ))}
      </ul>
    </section>
  );
}

const REACHES = worded(() => ({
  once: 'once',
  sandbox: 'for its sandbox',
  organization: t`for the organization`,
}));

function Standing({ approval }: { readonly approval: Approval }) {
  const { until } = approval;
  return (
    <li className="asking">
      <Lines lines={approval.lines} />
      <div className="asking-acts">
        <span className="quiet">
          {t`Approved ${approval.for === null ? '' : REACHES()[approval.for]}`}
          {until !== null && `, ${t`until ${new Date(until).toLocaleString()}`}`}
        </span>
        <span className="spring" />
        <button type="button" className="button button-small" onClick={() => void revoke(approval)}>
          {t`Revoke`}
        </button>
      </div>
    </li>
  );
}
