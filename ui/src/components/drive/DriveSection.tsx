/** The person's own Google Drive, among the settings of their account. */

import { useCallback, useEffect, useState } from 'react';
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
    <section aria-label="Google Drive">
      <h2>Google Drive</h2>
      {asked.is === 'loading' && <Loading what="Google Drive" lines={1} />}
      {asked.is === 'problem' && (
        <Trouble
          title="Whether your Drive is connected could not be asked"
          act={
            <button type="button" className="button button-small" onClick={ask}>
              Try again
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
    if (revoked) notify('Your Google Drive is disconnected.');
    else
      notify('Disconnected here. Google could not be reached: end it in your account, too.', 'bad');
  }

  if (drive.account === null) {
    return (
      <div className="secret">
        <p className="secret-words quiet">
          Connect it to bring files into your sandboxes, and back.
        </p>
        <ConnectButton />
      </div>
    );
  }
  return (
    <div className="secret">
      <div className="secret-words">
        <p className="secret-name">{drive.account}</p>
        <p className="quiet">Connected. Its token stays in the vault and reaches no sandbox.</p>
      </div>
      <button
        type="button"
        className="button button-small button-destroy"
        onClick={() => setEnding(true)}
      >
        Disconnect…
      </button>
      {ending && (
        <Confirm
          title="Disconnect Google Drive?"
          action="Disconnect"
          danger
          onClose={() => setEnding(false)}
          onConfirm={() => void disconnect().catch(notifyFailure('Not disconnected'))}
        >
          <p>The consent ends at Google, and its token is deleted here. Your files stay.</p>
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
            notifyFailure('Google Drive is not connected')(reason);
          });
      }}
    >
      Connect Google Drive
    </button>
  );
}
