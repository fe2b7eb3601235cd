/** Which events are worth a line on the home page, and their words. Pure. */

import type { Envelope } from '../../api/types';
import { t, worded } from '../../language/t';

/** Said of the subject, whose name stands before it. */
const WORDS = worded<Readonly<Record<string, string>>>(() => ({
  'sandbox.requested': t`was requested`,
  'sandbox.ready': t`is ready`,
  'sandbox.stopped': t`was stopped`,
  'sandbox.expired': 'expired',
  'sandbox.failed': 'failed',
  'sandbox.destroyed': t`was destroyed`,
  'sandbox.given': t`has another owner`,
  'sandbox.pulled': t`was pulled from`,
  'sandbox.setup_ended': t`was set up`,
  'task.given': t`began its task`,
  'task.failed': t`could not begin its task`,
  'git.pushed': t`holds a push for you`,
  'share.entered': t`has a guest`,
  'recording.started': t`is recorded`,
  'approval.granted': t`was allowed what it asked`,
  'approval.denied': t`was denied what it asked`,
  'secret.set': t`was set`,
  'secret.rotated': t`was rotated`,
  'secret.removed': t`was removed`,
  'member.added': 'joined',
  'member.changed': t`has another role or other groups`,
  'member.removed': 'left',
  'profile.saved': t`was saved`,
}));

export interface RecentEvent {
  readonly id: string;
  readonly at: string;
  readonly subject: string;
  readonly words: string;
  readonly reason: string | null;
  /** The sandbox it is about; null for none. */
  readonly sandbox: string | null;
}

/** The newest of the events that have words, newest first; `nameOf` knows sandboxes by their ids. */
export function recentOf(
  events: readonly Envelope[],
  nameOf: (sandbox: string) => string | undefined,
  limit: number,
): readonly RecentEvent[] {
  const found: RecentEvent[] = [];
  for (const event of events.toReversed()) {
    const words = WORDS()[event.event_type];
    if (words === undefined) continue;
    const sandbox = event.stream.startsWith('sandbox:') ? event.stream.slice(8) : null;
    const told = ['name', 'profile_id'].map((key) => event.payload[key]);
    const own = told.find((one) => typeof one === 'string' && one !== '');
    const known = sandbox === null ? undefined : nameOf(sandbox);
    const subject = known ?? (typeof own === 'string' ? own : (sandbox ?? event.stream));
    found.push({
      ...{ id: event.id, at: event.at, subject, words, sandbox },
      reason: event.reason,
    });
    if (found.length === limit) break;
  }
  return found;
}
