/** Everything that waits for this person, the longest waiting first, as the server lists it. */

import { call } from '../../api/call';
import type { InboxItem, Schemas } from '../../api/types';
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
  if (fresh !== undefined) announce(`${fresh.sandbox_name} waits for you.`);
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
    else notify(words, 'plain', { words: 'Undo', run: () => void revoke({ approval_id: id }) });
  } catch (reason) {
    notifyFailure('Not answered')(reason);
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
  const said =
    chosen === undefined
      ? `${item.sandbox_name} has your answer.`
      : `${item.sandbox_name}: you chose “${chosen.label}”.`;
  return lasts(item, option) ? `${said} “Secrets and approvals” takes it back later, too.` : said;
}
