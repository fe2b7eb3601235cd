/** The six safety layers of a sandbox, each with what it is worth there. */

import { useEffect, useState } from 'react';
import { api } from '../../../api/client';
import type { Safety } from '../../../api/types';
import { t } from '../../../language/t';
import { notifyFailure } from '../../../state/announce';

export function SafetyLayers({ sandboxId }: { readonly sandboxId: string }) {
  const [safety, setSafety] = useState<Safety | null>(null);
  useEffect(() => {
    api.safety(sandboxId).then(setSafety, notifyFailure(t`The safety layers could not be shown`));
  }, [sandboxId]);
  if (safety === null) return null;
  return (
    <>
      <p>{t`Safety layers`}</p>
      <ul className="layers">
        {safety.layers.map(({ number, name, in_force: on, bypassable, text }) => (
          <li key={number} className={on ? 'layer-on' : 'layer-off'}>
            <span className="layer-name">
              {name}
              <span className="badge">{on ? (bypassable ? t`a help` : t`in force`) : t`off`}</span>
            </span>
            <span className="quiet">{text}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
