/** What a person may do about control right now, and the words for it. Pure. */

import { t, worded } from '../../language/t';
import type { AttachStatus } from './status';
import type { Control, Party } from './party';

/** What the one button about control does. `take` is the owner's right. */
export type ControlAct = 'ask' | 'withdraw' | 'take' | 'release';

export const actWords = worded<Readonly<Record<ControlAct, string>>>(() => ({
  ask: t`Ask for control`,
  withdraw: t`Withdraw`,
  take: t`Take control`,
  release: t`Release`,
}));

type Seen = Pick<AttachStatus, 'phase' | 'control' | 'me' | 'drives' | 'driver'>;

/** The acts that make sense, the likelier first. */
export function controlActs(seen: Seen): readonly ControlAct[] {
  const { phase, control, me, drives, driver } = seen;
  if (phase !== 'live' || me?.role === 'viewer') return [];
  if (control === null) return drives || driver === null ? [] : ['ask'];
  // Alone at a terminal there is nobody to release it to.
  if (drives)
    return control.watchers.some(({ client }) => client !== me?.client) ? ['release'] : [];
  return control.driver === null ? ['ask'] : besides(control.driver, control, me);
}

/** What may be done while somebody else's client drives. */
function besides(driver: Party, { waiting }: Control, me: Party | null): readonly ControlAct[] {
  if (driver.principal === me?.principal) return ['take'];
  const waits = waiting.some(({ client }) => client === me?.client);
  // An owner's withdrawal would take control: the server has one request for both.
  if (me?.role === 'owner') return waits ? ['take'] : ['take', 'ask'];
  return [waits ? 'withdraw' : 'ask'];
}

/** Whether another client of the same person drives, so that typing may move control over here. */
export function drivesElsewhere({ control, me, drives }: Seen): boolean {
  const driver = control?.driver ?? null;
  if (drives || driver === null || me === null || me.role === 'viewer') return false;
  return driver.principal === me.principal && driver.client !== me.client;
}

/** Whether this person may lift the lock that keeps them from typing while the agent works. */
export function mayUnlock({ agent, me }: Pick<AttachStatus, 'agent' | 'me'>): boolean {
  if (agent === null || me?.role !== 'owner' || !agent.strict) return false;
  return agent.state === 'running' && agent.turn === 'working';
}

/** Who drives, for the bar. */
export function roleWords({ phase, control, me, drives, driver }: Seen): string {
  if (phase !== 'live') return '\u00a0';
  if (drives) return t`You drive`;
  if (driver === null && control?.driver == null) {
    return me?.role === 'viewer' ? t`Watching` : t`Nobody drives: type to take the wheel`;
  }
  return watchingWords(control, me?.principal);
}

/** What changed about who drives, to be said aloud; null when nothing did, or nobody was connected
 *  before. */
export function handoverWords(before: Seen, now: Seen): string | null {
  const [earlier, control] = [knownOf(before), knownOf(now)];
  if (earlier === null || control === null) return null;
  if (now.drives) return before.drives ? null : t`You drive now.`;
  const { driver } = control;
  if (earlier.driver?.client === driver?.client) return null;
  if (driver === null)
    return before.drives ? t`You no longer drive; nobody does.` : t`Nobody drives.`;
  const mine = driver.principal === now.me?.principal;
  return mine ? t`You drive elsewhere.` : t`${driver.name} drives now.`;
}

/** Who drives, where it is known at this moment. */
function knownOf({ phase, control }: Seen): Control | null {
  return phase === 'live' ? control : null;
}

/** Why keys went nowhere, for the flash over the terminal. */
export function refusalWords(
  code: string | null,
  message: string,
  control: Control | null,
): string {
  const name = control?.driver?.name;
  if (code === 'not_driver' && name !== undefined) return t`${name} drives: ask for control.`;
  return message;
}

function watchingWords(control: Control | null, mine: string | undefined): string {
  if (control?.driver == null) return t`Watching`;
  const { name, principal } = control.driver;
  if (principal === mine) return t`Watching: you drive elsewhere`;
  return control.away ? t`Watching: ${name} is away` : t`Watching: ${name} drives`;
}
