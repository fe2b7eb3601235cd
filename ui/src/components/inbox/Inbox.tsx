/** What waits for this person, as a part of other pages; nothing where nothing waits. */

import { useMemo } from 'react';
import { approvals } from '../../state/approvals';
import { inboxOf, type InboxItem } from '../../state/inbox';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { Item } from './InboxItems';

export function useInbox(): readonly InboxItem[] {
  const list = useStore(sandboxes);
  const asked = useStore(approvals);
  return useMemo(() => inboxOf(list ?? [], asked ?? []), [list, asked]);
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
