/** What the wall of a sandbox truly gives, said in full on request. */

import type { Isolation, Sandbox } from '../../../api/types';
import { plural, t } from '../../../language/t';
import { Icon } from '../../parts/icons';
import { Pop } from '../../parts/Pop';
import { RouteNote } from './RouteNote';
import { SafetyLayers } from './SafetyLayers';

interface IsolationMarkProps {
  readonly sandbox: Sandbox;
  readonly isolation: Isolation;
}

export function IsolationMark({ sandbox, isolation }: IsolationMarkProps) {
  const { level, degraded, weak } = isolation;
  const missing = degraded.length;
  const summary = (
    <>
      <Icon name="shield" />
      {weak ? t`weak isolation` : t`${level} isolation`}
      {missing > 0 && plural(missing, { one: ' · # limit missing', other: ' · # limits missing' })}
    </>
  );
  return (
    <Pop summary={summary} tone={weak ? 'fact-bad' : missing > 0 ? 'fact-warn' : ''}>
      {() => (
        <>
          <Wall isolation={isolation} />
          {sandbox.route !== null && <RouteNote routeId={sandbox.route} now={sandbox} />}
          <SafetyLayers sandboxId={sandbox.sandbox_id} />
        </>
      )}
    </Pop>
  );
}

/** What the wall gives, in full. */
export function Wall({ isolation }: { readonly isolation: Isolation }) {
  const { level, mechanism, degraded, weak, host_uid: uid } = isolation;
  return (
    <>
      {weak && (
        <p className="pop-bad">
          {t`This wall lacks a limit that protects the machine. Run nothing in it that you would not run beside your own programs.`}
        </p>
      )}
      <dl>
        <dt>{t`Level`}</dt>
        <dd>{level}</dd>
        <dt>{t`Mechanism`}</dt>
        <dd>{mechanism}</dd>
        {uid !== null && <dt>{t`User on the host`}</dt>}
        {uid !== null && <dd>{uid}</dd>}
      </dl>
      {degraded.length === 0 ? (
        <p className="quiet">{t`Every limit of the profile is in force.`}</p>
      ) : (
        <>
          <p>{t`This host cannot give:`}</p>
          <ul className="pop-notes">
            {degraded.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
