/** What the wall of a sandbox truly gives, said in full on request. */

import type { Isolation } from '../api/types';
import { Icon } from './icons';

export function IsolationMark({ isolation }: { readonly isolation: Isolation }) {
  const { level, mechanism, degraded, weak } = isolation;
  const tone = weak ? 'fact-bad' : degraded.length > 0 ? 'fact-warn' : '';
  return (
    <details className="pop">
      <summary className={`fact ${tone}`}>
        <Icon name="shield" />
        {weak ? 'weak isolation' : `${level} wall`}
        {degraded.length > 0 &&
          ` · ${degraded.length} ${degraded.length === 1 ? 'limit' : 'limits'} missing`}
      </summary>
      <div className="pop-body">
        {weak && (
          <p className="pop-bad">
            This sandbox runs with weak isolation because someone asked for it. Treat what runs in
            it as running on the host.
          </p>
        )}
        <dl>
          <dt>Level</dt>
          <dd>{level}</dd>
          <dt>Mechanism</dt>
          <dd>{mechanism}</dd>
          {isolation.host_uid !== null && (
            <>
              <dt>User on the host</dt>
              <dd>{isolation.host_uid}</dd>
            </>
          )}
        </dl>
        {degraded.length > 0 ? (
          <>
            <p>This host cannot give:</p>
            <ul>
              {degraded.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>
          </>
        ) : (
          <p className="quiet">Every limit of the profile is in force.</p>
        )}
      </div>
    </details>
  );
}
