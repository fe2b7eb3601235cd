/** Everything that waits for this person, the longest waiting first, as the server lists it. */

import { call, Problem } from '../../api/call';
import type { InboxItem, Schemas } from '../../api/types';
import { t } from '../../language/t';
import { announce, notify, notifyFailure } from '../announce';
import { revoke } from '../approvals';
import { Store } from '../store';

/** null until the first answer. */
export const inbox = new Store<readonly InboxItem[] | null>(null);

export async function loadInbox(): Promise<void> {
  const before = inbox.get();
  const { items } = (await call('GET', 'v1/inbox')) as Schemas['InboxView'];
  inbox.set(items);
  const known = new Set((before ?? []).map(({ id }) => id));
  const fresh = items.find(({ id }) => !known.has(id));
  if (fresh !== undefined) announce(t`${placeOf(fresh)} waits for you.`);
}

/** The name of the sandbox, the dashboard or else the agent that an item belongs to. Pure. */
export function placeOf({ sandbox_name: sandbox, place, agent }: InboxItem): string {
  return sandbox ?? place?.dashboard_name ?? agent ?? '';
}

/** Has a mention, a todo or a login that broke wait no more. */
export async function dismissItem({ id }: InboxItem): Promise<void> {
  inbox.set((now) => (now ?? []).filter((one) => one.id !== id));
  try {
    await call('DELETE', `v1/inbox/${encodeURIComponent(id)}`);
  } catch (reason) {
    // Gone already is as well: its comment was deleted, or another tab dismissed it.
    if (!(reason instanceof Problem && reason.status === 404))
      notifyFailure(t`Not dismissed`)(reason);
    await loadInbox();
  }
}

/** Whether something of this sandbox waits. */
export function waits(sandboxId: string): boolean {
  return (inbox.get() ?? []).some(({ sandbox_id: id }) => id === sandboxId);
}

/** The id of the option that `y` or `n` chooses; null where there is none of the kind. Pure. */
export function optionFor({ options }: InboxItem, effect: 'allow' | 'deny'): string | null {
  return options.find((one) => one.effect === effect)?.id ?? null;
}

/** Answers exactly what is shown. */
export async function answerItem(
  item: InboxItem,
  answer: { readonly option: string } | { readonly text: string },
): Promise<void> {
  const { id, shown } = item;
  try {
    await call('POST', `v1/inbox/${encodeURIComponent(id)}/answer`, { ...answer, shown });
    inbox.set((now) => (now ?? []).filter((one) => one.id !== id));
    const option = 'option' in answer ? answer.option : null;
    const words = wordsOf(item, option);
    // Its place in the list shows that it is answered; only what can be taken back stays a while.
    if (!lasts(item, option)) announce(words);
    else notify(words, 'plain', { words: t`Undo`, run: () => void revoke({ approval_id: id }) });
  } catch (reason) {
    notifyFailure(t`Not answered`)(reason);
    await loadInbox();
  }
}

/** Whether an answer allowed something that goes on, and can be taken back. Pure. */
export function lasts({ options, kind }: InboxItem, option: string | null): boolean {
  const chosen = options.find(({ id }) => id === option);
  return chosen?.effect === 'allow' && (kind === 'secret' || kind === 'host');
}

function wordsOf(item: InboxItem, option: string | null): string {
  const chosen = item.options.find(({ id }) => id === option);
  const name = placeOf(item);
  const said =
    chosen === undefined ? t`${name} has your answer.` : t`${name}: you chose “${chosen.label}”.`;
  return lasts(item, option) ? t`${said} “Secrets and approvals” takes it back later, too.` : said;
}
