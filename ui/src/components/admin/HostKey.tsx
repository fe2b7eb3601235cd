/** The key that is pinned for a host beside those that it shows, and a way to trust a shown one. */

import { overviewApi, type Host, type HostKeys } from '../../api/overview';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { Confirm, Dialog } from '../parts/Dialog';

interface HostKeyProps {
  readonly host: Host;
  readonly keys: HostKeys;
  readonly onClose: () => void;
}

export function HostKey({ host, keys, onClose }: HostKeyProps) {
  const title = t`The key of ${host.name}`;
  const [first] = keys.shown;
  if (first === undefined || keys.shown.includes(keys.pinned))
    return (
      <Dialog title={title} onClose={onClose}>
        <div className="dialog-text">
          <p>{t`It shows the key that is pinned for it.`}</p>
          <Fingerprints keys={keys} />
        </div>
      </Dialog>
    );
  return (
    <Confirm
      title={title}
      action={t`Trust the shown key`}
      danger
      onClose={onClose}
      onConfirm={() => {
        overviewApi
          .trust(host.host_id, first)
          .then(
            () => notify(t`${host.name} is trusted by its new key.`),
            notifyFailure(t`${host.name} was not changed`),
          );
      }}
    >
      <p>
        {t`It shows another key than the one that is pinned for it, so nothing is sent there. Somebody may stand between, unless the key was changed on purpose: compare it with the machine’s own.`}
      </p>
      <Fingerprints keys={keys} />
    </Confirm>
  );
}

function Fingerprints({ keys }: { readonly keys: HostKeys }) {
  return (
    <dl className="audit-fields">
      <dt>{t`Pinned`}</dt>
      <dd>
        <code>{keys.pinned}</code>
      </dd>
      <dt>{t`Shown now`}</dt>
      <dd>
        {keys.shown.map((one) => (
          <div key={one}>
            <code>{one}</code>
          </div>
        ))}
      </dd>
    </dl>
  );
}
