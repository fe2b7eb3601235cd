/** Quotas in words and in parts of a bar. Pure. */

import type { Quantities } from '../../api/team';
import { t, worded } from '../../language/t';

type Key = keyof Quantities;

/** What is limited, in the order of the list. */
export const LIMITS = worded<readonly { key: Key; words: string; hint: string }[]>(() => [
  { key: 'sandboxes', words: t`Sandboxes`, hint: t`a number` },
  { key: 'concurrentSessions', words: t`Terminals and agents`, hint: t`a number` },
  { key: 'cpu', words: t`Cores`, hint: t`such as 4 or 500m` },
  { key: 'memory', words: t`Memory`, hint: t`such as 64Gi` },
  { key: 'storage', words: t`Storage`, hint: t`such as 200Gi` },
]);

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  m: 0.001,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
};

/** A quantity as a number; null for none. */
export function amountOf(quantity: string | number | null): number | null {
  if (quantity === null || typeof quantity === 'number') return quantity;
  const found = /^([\d.]+)(m|[KMGT]i)?$/.exec(quantity);
  const unit = UNITS[found?.[2] ?? ''];
  return found === null || unit === undefined ? null : Number(found[1]) * unit;
}

/** The part of a limit that is used, from 0 to 1; null where nothing limits it. */
export function partOf(used: string | number | null, limit: string | number | null): number | null {
  const [of, most] = [amountOf(used) ?? 0, amountOf(limit)];
  if (most === null) return null;
  return most === 0 ? 1 : Math.min(1, of / most);
}
