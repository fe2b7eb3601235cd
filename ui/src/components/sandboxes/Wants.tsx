/** What a profile needs and gives, and whether this server has it. */

import type { Extension, Profile } from '../../api/types';
import { t } from '../../language/t';
import { sizeWords } from '../parts/words';

interface WantsProps {
  readonly profile: Profile;
  readonly extensions: readonly Extension[];
}

const MIB = 1024 * 1024;

export function Wants({ profile, extensions }: WantsProps) {
  const extension = extensions.find(({ name }) => name === profile.extension);
  const secrets = profile.setup?.secret_refs ?? [];
  return (
    <div className="wants" role="group" aria-label={t`What this profile needs`}>
      {factsOf(profile).map((fact) => (
        <span key={fact}>{fact}</span>
      ))}
      {secrets.length > 0 && <span>{t`needs secrets ${secrets.join(', ')}`}</span>}
      {extension !== undefined && !extension.available && (
        <span className="wants-bad" role="alert">
          {t`${extension.name} is not available here:`} {extension.reason}
        </span>
      )}
    </div>
  );
}

/** Short words for what a profile says. Pure. */
export function factsOf(profile: Profile): readonly string[] {
  const { image, isolation, network, resources, ttl } = profile;
  // A profile that names no backend leaves the choice to the route.
  const extension = profile.extension ?? '';
  return [
    extension === '' ? '' : t`runs on ${extension.replace(/^ext\./, '')}`,
    image === undefined ? '' : image === 'host' ? t`system of this machine` : t`image ${image}`,
    isolation === undefined ? '' : t`${isolation.level} isolation`,
    network === undefined ? '' : t`network ${network.mode}`,
    ...limitsOf(resources),
    ttl === undefined ? '' : t`lives ${ttl.default}`,
  ].filter((fact) => fact !== '');
}

function limitsOf(resources: Profile['resources']): readonly string[] {
  const memory = resources?.['memory_mb'] ?? null;
  const cpu = resources?.['cpu'] ?? null;
  return [
    memory === null ? '' : t`memory ${sizeWords(memory * MIB)}`,
    cpu === null ? '' : t`${cpu} CPU`,
  ];
}
