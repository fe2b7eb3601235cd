/** The backends of this server, and what `atoll doctor` finds on its machine. */

import { overviewApi, type Finding } from '../../api/overview';
import { Problem } from '../../api/call';
import type { Extension } from '../../api/types';
import { t, worded } from '../../language/t';
import { age, isNow, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { useAnswer } from '../parts/useAnswer';
import { useState } from 'react';
import { Failed } from './Failed';

const extensions = (): Promise<readonly Extension[]> => overviewApi.extensions();
const findings = () => overviewApi.findings();

const LEVELS = worded<Readonly<Record<Finding['level'], string>>>(() => ({
  ok: t`ok`,
  warn: t`limited`,
  fail: t`missing`,
}));

export function Extensions() {
  const [attempt, setAttempt] = useState(0);
  const { value, problem } = useAnswer(extensions, String(attempt));
  return (
    <>
      <section>
        <h2>{t`Extensions`}</h2>
        {problem !== null && (
          <Failed
            what={t`The extensions`}
            problem={problem.message}
            onRetry={() => setAttempt(attempt + 1)}
          />
        )}
        {value === null && problem === null && <p className="quiet">{t`Loading…`}</p>}
        <ul className="secrets" aria-label={t`Extensions`} hidden={value === null}>
          {value?.map((one) => (
            <Row key={one.name} extension={one} />
          ))}
        </ul>
      </section>
      <Machine />
    </>
  );
}

function Row({ extension }: { readonly extension: Extension }) {
  const { name, available, reason, trouble, capabilities: able } = extension;
  const notes =
    able === null
      ? []
      : [
          t`isolation: ${able.isolation}`,
          able.persistence ? t`keeps files` : t`keeps no files`,
          able.gpu ? 'GPU' : '',
          ...able.abilities,
        ];
  return (
    <li className="secret">
      <div className="secret-words">
        <p className="secret-name">
          {name}
          <span className={available ? 'badge badge-ok' : 'badge badge-bad'}>
            {available ? t`available` : t`not available`}
          </span>
        </p>
        {trouble !== null && <p className="pop-bad">{trouble}</p>}
        <p className="quiet">{reason ?? notes.filter((one) => one !== '').join(' · ')}</p>
      </div>
    </li>
  );
}

function Machine() {
  const [attempt, setAttempt] = useState(0);
  const now = useStore(tick);
  const { value, problem } = useAnswer(findings, String(attempt));
  const again = (): void => setAttempt(attempt + 1);
  const refused = problem instanceof Problem && problem.status === 403;
  return (
    <section>
      <div className="team-head">
        <h2>{t`This machine`}</h2>
        {value !== null && (
          <button type="button" className="button button-small" onClick={again}>
            {t`Look again`}
          </button>
        )}
      </div>
      {refused && (
        <p className="empty">
          {t`What ${(<code>atoll doctor</code>)} finds on the machine is shown to whoever runs this installation.`}
        </p>
      )}
      {problem !== null && !refused && (
        <Failed what={t`The report`} problem={problem.message} onRetry={again} />
      )}
      {value === null && problem === null && (
        <p className="quiet" role="status">
          {t`Looking at the machine…`}
        </p>
      )}
      {value !== null && (
        <>
          <p className="quiet">
            {t`What ${(<code>atoll doctor</code>)} found, ${isNow(value.at, now) ? t`just now` : t`${age(value.at, now)} ago`}.`}
          </p>
          <ul className="findings" aria-label={t`Findings`}>
            {[...value.findings].sort(byLevel).map((one) => (
              <li key={`${one.name} ${one.text}`} className="finding">
                <span className={`badge finding-${one.level}`}>{LEVELS()[one.level]}</span>
                <div>
                  <p>
                    <strong>{one.name}</strong> {one.text}
                  </p>
                  {one.fix !== '' && <p className="quiet">{one.fix}</p>}
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** What is missing first, then what is limited. */
function byLevel(one: Finding, other: Finding): number {
  const order = ['fail', 'warn', 'ok'];
  return order.indexOf(one.level) - order.indexOf(other.level);
}
