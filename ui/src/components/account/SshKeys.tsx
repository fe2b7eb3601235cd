/** The SSH keys by which one logs in to one’s sandboxes. */

import { useState } from 'react';
import { Problem } from '../../api/call';
import { accountApi, type SshKey } from '../../api/account';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { agoWords, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { Confirm, Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';
import { Icon } from '../parts/icons';
import { Listed, useListed } from '../parts/Listed';
import { Empty } from '../parts/States';

/** The same function at each showing. */
const own = () => accountApi.sshKeys();

const MAX_KEY_LINE = 16384;

export function SshKeys() {
  const asked = useListed(own);
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<SshKey | null>(null);

  return (
    <section>
      <div className="team-head">
        <h2>{t`SSH keys`}</h2>
        <button type="button" className="button button-small" onClick={() => setAdding(true)}>
          <Icon name="plus" />
          {t`Add a key`}
        </button>
      </div>
      <Listed
        asked={asked}
        what={t`SSH keys`}
        empty={
          <Empty icon="key">{t`No SSH keys. With a key, ssh logs in to your sandboxes.`}</Empty>
        }
      >
        {(list) => (
          <ul className="secrets" aria-label={t`SSH keys`}>
            {list.map((key) => (
              <KeyRow key={key.key_id} shown={key} onRemove={() => setRemoving(key)} />
            ))}
          </ul>
        )}
      </Listed>
      {adding && <AddKey onClose={() => setAdding(false)} onAdded={asked.reload} />}
      {removing !== null && (
        <Confirm
          title={t`Remove ${removing.name}?`}
          action={t`Remove`}
          danger
          onClose={() => setRemoving(null)}
          onConfirm={() => {
            accountApi.removeSshKey(removing.key_id).then(
              () => {
                notify(t`${removing.name} was removed.`);
                asked.reload();
              },
              notifyFailure(t`Not removed`),
            );
          }}
        >
          <p>{t`Nobody logs in by it from now on.`}</p>
        </Confirm>
      )}
    </section>
  );
}

interface RowProps {
  readonly shown: SshKey;
  readonly onRemove: () => void;
}

function KeyRow({ shown, onRemove }: RowProps) {
  const now = useStore(tick);
  const { name, kind, fingerprint, used_at: used } = shown;
  return (
    <li className="secret">
      <div className="secret-words">
        <p className="secret-name">{name}</p>
        <p className="quiet">
          {`${kind} · ${used === null ? t`never used` : t`used ${agoWords(used, now)}`}`}
        </p>
        <p className="secret-print">{fingerprint}</p>
      </div>
      <button
        type="button"
        className="button button-small button-destroy"
        aria-label={t`Remove ${name}`}
        onClick={onRemove}
      >
        {t`Remove`}
      </button>
    </li>
  );
}

interface AddProps {
  readonly onClose: () => void;
  readonly onAdded: () => void;
}

function AddKey({ onClose, onAdded }: AddProps) {
  const [line, setLine] = useState('');
  const [trouble, setTrouble] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  async function add(): Promise<void> {
    setBusy(true);
    try {
      const added = await accountApi.addSshKey(line.trim());
      notify(t`${added.name} was added.`);
      onAdded();
      onClose();
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble(reason.message);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Dialog title={t`Add a key`} onClose={onClose} wide>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <Field
          label={t`Public key`}
          hint={t`One line, as in a file that ends in .pub`}
          trouble={trouble}
          grow
        >
          {(wiring) => (
            <input
              {...wiring}
              data-first-focus
              autoComplete="off"
              autoCapitalize="off"
              spellCheck={false}
              maxLength={MAX_KEY_LINE}
              value={line}
              onChange={(event) => setLine(event.target.value)}
            />
          )}
        </Field>
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button
            type="submit"
            className="button button-primary"
            disabled={busy || line.trim() === ''}
          >
            {t`Add`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
