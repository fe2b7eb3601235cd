/** A person as initials on a calm colour of their own; the name is said beside it or in words. */

import { hueOf } from '../../terminal/attach/party';

interface AvatarProps {
  readonly name: string;
  /** Tells people of one name apart. */
  readonly principal: string;
  readonly drives?: boolean;
}

export function Avatar({ name, principal, drives = false }: AvatarProps) {
  return (
    <span
      className={drives ? 'avatar avatar-drives' : 'avatar'}
      data-hue={hueOf(principal || name)}
      aria-hidden="true"
    >
      {initials(name)}
    </span>
  );
}

/** Up to two letters: of the first and the last word. */
export function initials(name: string): string {
  const words = name.split(/[\s._-]+/).filter((word) => word !== '');
  const picked = words.length > 1 ? [words.at(0), words.at(-1)] : [words.at(0)];
  const letters = picked.map((word) => Array.from(word ?? '?')[0] ?? '?').join('');
  return letters.toLocaleUpperCase();
}
