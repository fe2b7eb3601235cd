/** Shows the work in a sandbox that nobody has outside, before an act that may lose it. */

import { api } from '../../api/client';
import type { Schemas, UnpulledPlace } from '../../api/types';
import { t } from '../../language/t';
import { useAnswer } from '../parts/useAnswer';

const SHOWN = 8;

export function UnpulledWork({ sandboxId }: { readonly sandboxId: string }) {
  const { value: work, problem } = useAnswer(api.unpulled, sandboxId);
  return (
    <div className="unpulled" role="status" aria-label={t`Work that exists only here`} tabIndex={0}>
      {work === null && problem === null && (
        <p className="quiet">{t`Looking for work that exists only here…`}</p>
      )}
      {problem !== null && (
        <p>{t`Work that exists only here cannot be listed: ${problem.message}`}</p>
      )}
      {work !== null && <Work work={work} />}
    </div>
  );
}

function Work({ work: { places, pushes } }: { readonly work: Schemas['UnpulledView'] }) {
  return (
    <>
      {places.length === 0 && <p className="quiet">{t`No work exists only here.`}</p>}
      {places.map((place) => (
        <Place key={place.path} place={place} />
      ))}
      {pushes.length > 0 && <Pushes pushes={pushes} />}
    </>
  );
}

/** Held on the server: an act does not lose them, but nobody has them yet. */
function Pushes({ pushes }: { readonly pushes: Schemas['UnpulledView']['pushes'] }) {
  return (
    <section>
      <p>{t`${(<strong>{t`Pushed inside, not pulled:`}</strong>)} held on the server`}</p>
      <ul>
        {pushes.slice(0, SHOWN).map(({ kept_id: id, branch, commits, kept_until: until }) => (
          <li key={id}>
            {t`${(<code>{branch}</code>)}, ${count(commits, t`new commit`)}, until ${new Date(until).toLocaleString()}`}
          </li>
        ))}
        {pushes.length > SHOWN && <li>{t`and ${pushes.length - SHOWN} more`}</li>}
      </ul>
    </section>
  );
}

function Place({ place }: { readonly place: UnpulledPlace }) {
  const files = [
    ...place.changed.map((path) => ({ path, kind: 'changed' })),
    ...place.untracked.map((path) => ({ path, kind: 'untracked' })),
  ];
  const shown = files.slice(0, SHOWN);
  const left = files.length - shown.length + place.more;
  return (
    <section>
      <p>
        <strong>{t`Only in ${place.path}:`}</strong> {summary(place)}
      </p>
      <ul>
        {shown.map(({ path, kind }) => (
          <li key={`${kind} ${path}`}>
            {kind} <code>{path}</code>
          </li>
        ))}
        {left > 0 && <li>{t`and ${left} more`}</li>}
      </ul>
    </section>
  );
}

function summary({ commits, tip, subject, stashes, changed, untracked, more }: UnpulledPlace) {
  const words: string[] = [];
  if (commits > 0)
    words.push(t`${count(commits, 'commit')} up to ${tip?.slice(0, 12) ?? '?'} (${subject})`);
  if (stashes > 0) words.push(count(stashes, 'stash', 'stashes'));
  const files = changed.length + untracked.length + more;
  if (files > 0) words.push(count(files, 'file'));
  return words.join(', ');
}

function count(number: number, noun: string, several = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : several}`;
}
