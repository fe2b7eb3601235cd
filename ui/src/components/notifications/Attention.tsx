/** Watches what waits for the person, and tells them; draws nothing itself. */

import { useEffect, useRef } from 'react';
import { showBadge, titleOf } from '../../state/attention/badge';
import { admit, badgeAfter, newsOf, seenOf } from '../../state/attention/news';
import type { Badge, Seen, Times } from '../../state/attention/news';
import { beginPush } from '../../state/attention/push';
import { isOnScreen, tell } from '../../state/attention/tell';
import { tick } from '../../state/clock';
import { inbox } from '../../state/attention/inbox';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { ownerOf } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { useInbox } from '../inbox/Inbox';

/** `name` is the sandbox that is shown. */
export function Attention({ name }: { readonly name: string | null }) {
  const count = useInbox().length;
  const now = useStore(tick);
  const badge = useRef<Badge>({ count: 0, rises: {} });

  useEffect(() => void beginPush(), []);
  useNews();
  useEffect(() => {
    badge.current = badgeAfter(badge.current, count, Date.now());
    document.title = titleOf(badge.current.count, name);
    showBadge(badge.current.count);
  }, [count, name, now]);
  useEffect(() => () => showBadge(0), []);
  return null;
}

/** Tells of what becomes news from the first answer of the server on. */
function useNews(): void {
  const list = useStore(sandboxes);
  const asked = useStore(inbox);
  const ours = useStore(team);
  const before = useRef<Seen | null>(null);
  const times = useRef<Times>({});
  useEffect(() => {
    if (list === null || asked === null) return;
    // What others share is theirs to look after.
    const own = list.filter((one) => ownerOf(ours, one) === null);
    const now = seenOf(own, asked);
    const news = before.current === null ? [] : newsOf(before.current, now);
    before.current = now;
    for (const one of news.filter((each) => !isOnScreen(each))) {
      const after = admit(times.current, one.sandboxId, Date.now());
      if (after === null) continue;
      times.current = after;
      tell(one);
    }
  }, [list, asked, ours]);
}
