/** What waits for this person, as a part of other pages; nothing where nothing waits. */

import type { InboxItem } from '../../api/types';
import { inbox } from '../../state/attention/inbox';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Item } from './InboxItems';

const NOTHING: readonly InboxItem[] = [];

/** The items; none for whoever may answer nothing, as they wait for others then. */
export function useInbox(): readonly InboxItem[] {
  const items = useStore(inbox) ?? NOTHING;
  return mayWork(useStore(team)) ? items : NOTHING;
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
