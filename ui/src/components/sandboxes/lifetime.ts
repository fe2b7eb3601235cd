/** The times that may be given to a sandbox: those that its profile's `ttl` allows. Pure. */

import type { Profile, Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { duration } from '../../state/clock';

const UNITS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;
const SPELLED = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;
/** Less is not worth a button. */
const LEAST_SECONDS = 60;

/** A time as the API spells it, and in words. */
export interface Span {
  readonly ttl: string;
  readonly words: string;
}

const LIVES = worded<readonly Span[]>(() => [
  { ttl: '1h', words: t`1 hour` },
  { ttl: '4h', words: t`4 hours` },
  { ttl: '12h', words: t`12 hours` },
  { ttl: '1d', words: t`1 day` },
  { ttl: '3d', words: t`3 days` },
  { ttl: '7d', words: t`7 days` },
  { ttl: '30d', words: t`30 days` },
]);

const EXTENSIONS = worded<readonly Span[]>(() => [
  { ttl: '1h', words: t`1 hour more` },
  { ttl: '4h', words: t`4 hours more` },
  { ttl: '12h', words: t`12 hours more` },
  { ttl: '1d', words: t`1 day more` },
  { ttl: '7d', words: t`7 days more` },
]);

/** Seconds of a duration such as `1h30m`; null for a text that is none. */
export function secondsOf(text: string): number | null {
  const parts: readonly (string | undefined)[] | undefined = SPELLED.exec(text)?.slice(1);
  if (parts === undefined || text === '') return null;
  const seconds = Object.values(UNITS);
  return parts.reduce((sum, part, at) => sum + Number(part ?? 0) * (seconds[at] ?? 0), 0);
}

/** The lives that a profile allows; every one where it does not say the longest. */
export function livesOf(profile: Profile | undefined): readonly Span[] {
  const most = secondsOf(profile?.ttl?.max ?? '');
  return most === null ? LIVES() : LIVES().filter((span) => (secondsOf(span.ttl) ?? 0) <= most);
}

/** A life that was chosen for another profile, '' where this one does not allow it. */
export function fittingLife(ttl: string, profile: Profile | undefined): string {
  return livesOf(profile).some((span) => span.ttl === ttl) ? ttl : '';
}

/** The extensions that still fit, the last one up to the latest end that its profile allows. */
export function extensionsOf(
  sandbox: Pick<Sandbox, 'expires_at' | 'max_expires_at'>,
): readonly Span[] {
  const { expires_at: end, max_expires_at: latest } = sandbox;
  const room = Math.floor((Date.parse(latest) - Date.parse(end)) / 1000);
  if (room < LEAST_SECONDS) return [];
  const fitting = EXTENSIONS().filter((span) => (secondsOf(span.ttl) ?? 0) < room);
  return [...fitting, { ttl: `${room}s`, words: t`${duration(room)} more, the most` }];
}
