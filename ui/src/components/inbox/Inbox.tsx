/** What waits for this person, as a part of other pages; nothing where nothing waits. */

import { useMemo } from 'react';
import type { InboxItem } from '../../api/types';
import { t } from '../../language/t';
import { inbox } from '../../state/attention/inbox';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Item } from './InboxItems';

const NOTHING: readonly InboxItem[] = [];

/** The items; for whoever may answer nothing those that take no answer, as the others wait for
 *  somebody else. */
export function useInbox(): readonly InboxItem[] {
  const items = useStore(inbox) ?? NOTHING;
  const works = mayWork(useStore(team));
  return useMemo(
    () => (works ? items : items.filter(({ place }) => place !== null)),
    [items, works],
  );
}

export function Inbox() {
  const items = useInbox();
  if (items.length === 0) return null;
  return (
    <section className="inbox" aria-label={t`Waiting for you`}>
      <h2>
        {t`Waiting for you`} <span className="count">{items.length}</span>
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
