/** Shows the work in a sandbox that nobody has outside, before an act that may lose it. */

import { useEffect } from 'react';
import { api } from '../../api/client';
import type { Schemas, UnpulledPlace } from '../../api/types';
import { t } from '../../language/t';
import { visible } from '../../unseen';
import { useAnswer, type Answer } from '../parts/useAnswer';

const SHOWN = 8;

/** What is known of the work in sandboxes that are about to be destroyed. */
export type Finding = 'looking' | 'unknown' | 'work' | 'nothing';

interface UnpulledWorkProps {
  readonly sandboxId: string;
  readonly onFound?: (sandboxId: string, finding: Finding) => void;
}

export function UnpulledWork({ sandboxId, onFound }: UnpulledWorkProps) {
  const answer = useAnswer(api.unpulled, sandboxId);
  const { value: work, problem } = answer;
  const finding = findingOf(answer);
  useEffect(() => onFound?.(sandboxId, finding), [sandboxId, finding, onFound]);
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

function findingOf({ value, problem }: Answer<Schemas['UnpulledView']>): Finding {
  if (value === null) return problem === null ? 'looking' : 'unknown';
  return value.places.length > 0 ? 'work' : 'nothing';
}

/** What is the worst of several: nothing is agreed to before all are known. */
export function worstOf(findings: readonly Finding[]): Finding {
  const order: readonly Finding[] = ['looking', 'unknown', 'work'];
  return order.find((one) => findings.includes(one)) ?? 'nothing';
}

interface LoseCheckProps {
  readonly finding: Finding;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** The second word of a destroy: without it the server refuses to lose work. */
export function LoseCheck({ finding, checked, onChange }: LoseCheckProps) {
  if (finding === 'nothing' || finding === 'looking') return null;
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
      />
      {finding === 'work'
        ? t`Lose this work for good`
        : t`Destroy it although nobody knows what is lost`}
    </label>
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
            {t`${(<code>{visible(branch)}</code>)}, ${count(commits, t`new commit`)}, until ${new Date(until).toLocaleString()}`}
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
        <strong>{t`Only in ${visible(place.path)}:`}</strong> {summary(place)}
      </p>
      <ul>
        {shown.map(({ path, kind }) => (
          <li key={`${kind} ${path}`}>
            {kind} <code>{visible(path)}</code>
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
    words.push(
      t`${count(commits, 'commit')} up to ${tip?.slice(0, 12) ?? '?'} (${visible(subject)})`,
    );
  if (stashes > 0) words.push(count(stashes, 'stash', 'stashes'));
  const files = changed.length + untracked.length + more;
  if (files > 0) words.push(count(files, 'file'));
  return words.join(', ');
}

function count(number: number, noun: string, several = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : several}`;
}
