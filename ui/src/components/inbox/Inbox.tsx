/** What waits for this person, as a part of other pages; nothing where nothing waits. */

import type { InboxItem } from '../../api/types';
import { inbox } from '../../state/attention/inbox';
import { useStore } from '../../state/store';
import { Item } from './InboxItems';

const NOTHING: readonly InboxItem[] = [];

export function useInbox(): readonly InboxItem[] {
  return useStore(inbox) ?? NOTHING;
}

export function Inbox() {
  const items = useInbox();
  if (items.length === 0) return null;
  return (
    <section className="inbox" aria-label="Waiting for you">
      <h2>
        Waiting for you <span className="count">{items.length}</span>
      </h2>
      <ul className="asks">
        {items.map((item) => (
          <li key={item.id} className="asking">
            <Item item={item} />
          </li>
        ))}
      </ul>
    </section>
  );
}
