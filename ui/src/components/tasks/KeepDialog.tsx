/** Keeps one of several sandboxes and ends the others, after it showed what only they have. */

import { useCallback, useState } from 'react';
import { api, type Fate } from '../../api/client';
import type { Sandbox } from '../../api/types';
import { plural, t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { neverHeldWork } from '../../state/acts';
import { go } from '../../state/route';
import { keep } from '../../state/sandboxes';
import { doWork, mayMerge } from '../../state/work/acts';
import { Confirm } from '../parts/Dialog';
import { LoseCheck, UnpulledWork, worstOf, type Finding } from '../sandboxes/UnpulledWork';

interface KeepDialogProps {
  readonly kept: Sandbox;
  readonly others: readonly Sandbox[];
  readonly onClose: () => void;
}

export function KeepDialog({ kept, others, onClose }: KeepDialogProps) {
  const [saves, setSaves] = useState(true);
  const [loses, setLoses] = useState(false);
  const mergeable = mayMerge(kept);
  const [merges, setMerges] = useState(true);
  const [found, setFound] = useState<Readonly<Record<string, Finding>>>({});
  const onFound = useCallback((id: string, finding: Finding) => {
    setFound((now) => ({ ...now, [id]: finding }));
  }, []);
  const holding = others.filter((one) => !neverHeldWork(one));
  const finding = worstOf(holding.map(({ sandbox_id: id }) => found[id] ?? 'looking'));
  const count = plural(others.length, { one: 'the other one', other: 'the # others' });
  return (
    <Confirm
      title={t`Keep ${kept.name}?`}
      action={t`Destroy ${count}`}
      danger
      ready={saves || loses || finding === 'nothing'}
      onClose={onClose}
      onConfirm={() => {
        void endAll(others, { keeps: saves, loses });
        go(kept.sandbox_id);
        if (mergeable && merges) void doWork(kept, 'merge');
      }}
    >
      <p>
        {t`${kept.name} stays as it is. These are destroyed, with everything that exists only there:`}
      </p>
      {others.map((one) => (
        <section key={one.sandbox_id} aria-label={one.name}>
          <h3>{one.name}</h3>
          {!neverHeldWork(one) && <UnpulledWork sandboxId={one.sandbox_id} onFound={onFound} />}
        </section>
      ))}
      <label className="check">
        <input type="checkbox" checked={saves} onChange={() => setSaves(!saves)} />
        {t`Keep their files and commits on the server first`}
      </label>
      {mergeable && (
        <label className="check">
          <input type="checkbox" checked={merges} onChange={() => setMerges(!merges)} />
          {t`Then merge ${kept.name}`}
        </label>
      )}
      {!saves && <LoseCheck finding={finding} checked={loses} onChange={setLoses} />}
    </Confirm>
  );
}

/** One that cannot be destroyed is said, and does not hold up the others. */
async function endAll(others: readonly Sandbox[], fate: Fate): Promise<void> {
  for (const { sandbox_id: id, name } of others) {
    try {
      keep(await api.destroy(id, fate));
      notify(t`${name} is being destroyed.`);
    } catch (reason) {
      notifyFailure(t`${name} was not destroyed`)(reason);
    }
  }
}
