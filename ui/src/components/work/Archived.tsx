/** The sandboxes that were put away, newest first, each with the way back. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { age, tick } from '../../state/clock';
import { go } from '../../state/route';
import { useStore } from '../../state/store';
import { mayManage } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { doWork } from '../../state/work/acts';
import { repoWords } from '../parts/words';
import '../../styles/work.css';

export function Archived({ list }: { readonly list: readonly Sandbox[] }) {
  const now = useStore(tick);
  const ours = useStore(team);
  const away = list
    .filter(({ archived_at: at }) => at !== null)
    .sort((a, b) => (b.archived_at ?? '').localeCompare(a.archived_at ?? ''));
  if (away.length === 0) return null;
  return (
    <details className="archived">
      <summary>
        {t`Archived`} <span className="quiet">{away.length}</span>
      </summary>
      <ul className="lines lines-scroll" aria-label={t`Archived sandboxes`}>
        {away.map((sandbox) => (
          <li key={sandbox.sandbox_id}>
            <span className="lines-words">
              <button type="button" className="button-link" onClick={() => go(sandbox.sandbox_id)}>
                {sandbox.name}
              </button>
              <span className="quiet">
                {[repoWords(sandbox), age(sandbox.archived_at ?? '', now)]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
            </span>
            {mayManage(ours, sandbox) && (
              <button
                type="button"
                className="button button-small"
                aria-label={t`Revive ${sandbox.name}`}
                onClick={() => void doWork(sandbox, 'revive')}
              >
                {t`Revive`}
              </button>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
