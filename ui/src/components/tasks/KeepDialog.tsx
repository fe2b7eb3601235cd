/** Keeps one of several sandboxes and ends the others, after it showed what only they have. */

import { useState } from 'react';
import { api } from '../../api/client';
import type { Sandbox } from '../../api/types';
import { plural, t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { keep } from '../../state/sandboxes';
import { Confirm } from '../parts/Dialog';
import { UnpulledWork } from '../sandboxes/UnpulledWork';

interface KeepDialogProps {
  readonly kept: Sandbox;
  readonly others: readonly Sandbox[];
  readonly onClose: () => void;
}

export function KeepDialog({ kept, others, onClose }: KeepDialogProps) {
  const [saves, setSaves] = useState(true);
  const count = plural(others.length, { one: 'the other one', other: 'the # others' });
  return (
    <Confirm
      title={t`Keep ${kept.name}?`}
      action={t`Destroy ${count}`}
      danger
      onClose={onClose}
      onConfirm={() => void endAll(others, saves)}
    >
      <p>
        {t`${kept.name} stays as it is. These are destroyed, with everything that exists only there:`}
      </p>
      {others.map(({ sandbox_id: id, name }) => (
        <section key={id} aria-label={name}>
          <h3>{name}</h3>
          <UnpulledWork sandboxId={id} />
        </section>
      ))}
      <label className="check">
        <input type="checkbox" checked={saves} onChange={() => setSaves(!saves)} />
        {t`Keep their files and commits on the server first`}
      </label>
    </Confirm>
  );
}

/** One that cannot be destroyed is said, and does not hold up the others. */
async function endAll(others: readonly Sandbox[], saves: boolean): Promise<void> {
  for (const { sandbox_id: id, name } of others) {
    try {
      keep(await api.destroy(id, saves));
      notify(t`${name} is being destroyed.`);
    } catch (reason) {
      notifyFailure(t`${name} was not destroyed`)(reason);
    }
  }
}
