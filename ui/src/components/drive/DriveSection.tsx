/** The person's own Google Drive, among the settings of their account. */

import { useCallback, useEffect, useState } from 'react';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { Confirm } from '../parts/Dialog';
import { Loading, Trouble } from '../parts/States';
import { drives, openConsent, type Drive } from './drive';

type Asked =
  | { readonly is: 'loading' }
  | { readonly is: 'problem'; readonly problem: Error }
  | { readonly is: 'there'; readonly drive: Drive };

export function DriveSection() {
  const [asked, setAsked] = useState<Asked>({ is: 'loading' });
  const ask = useCallback(() => {
    drives.get().then(
      (drive) => setAsked({ is: 'there', drive }),
      (reason: unknown) =>
        setAsked({ is: 'problem', problem: reason instanceof Error ? reason : new Error() }),
    );
  }, []);
  useEffect(ask, [ask]);
  if (asked.is === 'there' && !asked.drive.available && asked.drive.account === null) return null;
  return (
    <section aria-label={t`Google Drive`}>
      <h2>{t`Google Drive`}</h2>
      {asked.is === 'loading' && <Loading what={t`Google Drive`} lines={1} />}
      {asked.is === 'problem' && (
        <Trouble
          title={t`Whether your Drive is connected could not be asked`}
          act={
            <button type="button" className="button button-small" onClick={ask}>
              {t`Try again`}
            </button>
          }
        >
          {asked.problem.message}
        </Trouble>
      )}
      {asked.is === 'there' && (
        <div className="secrets">
          <Connection drive={asked.drive} onChange={ask} />
        </div>
      )}
    </section>
  );
}

interface ConnectionProps {
  readonly drive: Drive;
  readonly onChange: () => void;
}

function Connection({ drive, onChange }: ConnectionProps) {
  const [ending, setEnding] = useState(false);

  async function disconnect(): Promise<void> {
    const { revoked } = await drives.disconnect();
    onChange();
    if (revoked) notify(t`Your Google Drive is disconnected.`);
    else
      notify(
        t`Disconnected here. Google could not be reached: end it in your account, too.`,
        'bad',
      );
  }

  if (drive.account === null) {
    return (
      <div className="secret">
        <p className="secret-words quiet">
          {t`Connect it to bring files into your sandboxes, and back.`}
        </p>
        <ConnectButton />
      </div>
    );
  }
  return (
    <div className="secret">
      <div className="secret-words">
        <p className="secret-name">{drive.account}</p>
        <p className="quiet">{t`Connected. Its token stays in the vault and reaches no sandbox.`}</p>
      </div>
      <button
        type="button"
        className="button button-small button-destroy"
        onClick={() => setEnding(true)}
      >
        {t`Disconnect…`}
      </button>
      {ending && (
        <Confirm
          title={t`Disconnect Google Drive?`}
          action={t`Disconnect`}
          danger
          onClose={() => setEnding(false)}
          onConfirm={() => void disconnect().catch(notifyFailure(t`Not disconnected`))}
        >
          <p>{t`The consent ends at Google, and its token is deleted here. Your files stay.`}</p>
        </Confirm>
      )}
    </div>
  );
}

/** Leads to Google's page, which leads back here. */
export function ConnectButton() {
  const [busy, setBusy] = useState(false);
  return (
    <button
      type="button"
      className="button button-small"
      disabled={busy}
      onClick={() => {
        setBusy(true);
        drives
          .consent()
          .then(openConsent)
          .catch((reason: unknown) => {
            setBusy(false);
            notifyFailure(t`Google Drive is not connected`)(reason);
          });
      }}
    >
      {t`Connect Google Drive`}
    </button>
  );
}
