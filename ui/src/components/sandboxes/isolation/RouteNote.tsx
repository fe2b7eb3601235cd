/** Where a sandbox is, and why there: the decision of its route, in full on request. */

import { overviewApi, type Route } from '../../../api/overview';
import { plural, t, worded } from '../../../language/t';
import { useAnswer } from '../../parts/useAnswer';
import { costWords } from '../../parts/words';

/** The decision of a route, as far as it is told here. */
export interface Decision {
  readonly strategy: Route['strategy'];
  readonly chosen: PlaceNamed | null;
  readonly candidates: readonly Candidate[];
  readonly attempts: readonly (PlaceNamed & {
    readonly at: string;
    readonly reason: string | null;
  })[];
  readonly moves: Route['moves'];
}

interface Candidate extends PlaceNamed {
  readonly fit: boolean;
  readonly reasons: readonly string[];
  readonly isolation?: Route['candidates'][number]['isolation'];
  readonly cost_per_hour?: Route['candidates'][number]['cost_per_hour'];
}

export const STRATEGIES = worded<Readonly<Record<Route['strategy'], string>>>(() => ({
  desktop_preferred: t`their own machine, while it is linked; else the first of ours that fits`,
  'prefer-self-hosted': t`the first machine of ours that fits, in declared order`,
  'lowest-cost': t`the lowest declared price`,
  'lowest-latency': t`what was ready soonest in the last day`,
  explicit: t`named by its profile or by its creator; nothing else was tried`,
}));

interface RouteNoteProps {
  readonly routeId: string;
  /** Where the sandbox is now. */
  readonly now: PlaceNamed;
}

export function RouteNote({ routeId, now }: RouteNoteProps) {
  const { value: route } = useAnswer(overviewApi.route, routeId);
  // Without it nothing is missing: the wall is told of above.
  return route === null ? null : <Decided route={route} now={now} />;
}

interface DecidedProps {
  readonly route: Decision;
  readonly now: PlaceNamed;
}

/** The decision as words: where it is, where it was to be, and what became of the others. */
export function Decided({ route, now }: DecidedProps) {
  const failed = route.attempts.filter(({ reason }) => reason !== null);
  const [place, first] = [placeWords(now), route.chosen];
  return (
    <>
      <p>{t`Where it is, and why there`}</p>
      <dl>
        <dt>{t`Place`}</dt>
        <dd>{place}</dd>
        {first !== null && placeWords(first) !== place && (
          <>
            <dt>{t`First choice`}</dt>
            <dd>{placeWords(first)}</dd>
          </>
        )}
        <dt>{t`Chosen by`}</dt>
        <dd>{STRATEGIES()[route.strategy]}</dd>
      </dl>
      {failed.length > 0 && (
        <ul className="pop-notes" aria-label={t`Failed starts`}>
          {failed.map((one) => (
            <li key={`${one.extension} ${one.host} ${one.at}`}>
              {t`${placeWords(one)} failed: ${one.reason ?? ''}`}
            </li>
          ))}
        </ul>
      )}
      {route.moves.length > 0 && (
        <ul className="pop-notes" aria-label={t`Evacuations`}>
          {route.moves.map(({ source, target, at }) => (
            <li key={at}>{t`evacuated from ${source} to ${target}`}</li>
          ))}
        </ul>
      )}
      <details className="route-more">
        <summary>
          {plural(route.candidates.length, { one: '# candidate', other: '# candidates' })}
        </summary>
        <ul className="layers" aria-label={t`Candidates`}>
          {route.candidates.map((one) => (
            <Considered key={placeWords(one)} candidate={one} />
          ))}
        </ul>
      </details>
    </>
  );
}

function Considered({ candidate }: { readonly candidate: Candidate }) {
  const { fit, reasons, isolation, cost_per_hour: cost = null } = candidate;
  const able = [
    isolation === undefined ? '' : t`isolation: ${isolation}`,
    cost === null ? '' : t`${costWords(cost)} per hour`,
  ].filter((one) => one !== '');
  return (
    <li className={fit ? 'layer-on' : 'layer-off'}>
      <span className="layer-name">
        {placeWords(candidate)}
        <span className="badge">{fit ? t`fits` : t`left out`}</span>
      </span>
      <span className="quiet">{(fit ? able : reasons).join(' · ')}</span>
    </li>
  );
}

export interface PlaceNamed {
  readonly extension: string;
  readonly host: string;
  readonly region?: string;
}

export function placeWords({ extension, host, region = '' }: PlaceNamed): string {
  const at = host === '' ? region : host;
  return at === '' ? extension : t`${extension} at ${at}`;
}
