/**
 * Panes that other parts of the page show inside an item, by its kind.
 *
 * Each is fetched when one is first on a dashboard.
 */

import type { Sandbox } from '../../api/types';
import { Item as InboxItem } from '../../components/inbox/InboxItems';
import { useInbox } from '../../components/inbox/Inbox';
import { later } from '../../components/parts/later';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { KIND_WORDS, type Item } from '../document/items';

export interface PaneProps {
  readonly item: Item;
}

const ReviewPane = later(async () => (await import('../../components/review/ReviewPane')).default);

/** The sandbox of an item, where the caller sees it. */
function useSandbox({ sandboxId }: Item): Sandbox | null {
  return useStore(sandboxes)?.find((one) => one.sandbox_id === sandboxId) ?? null;
}

/** The diff of a sandbox, as its tab of changes shows it. */
function Diff({ item }: PaneProps) {
  const sandbox = useSandbox(item);
  if (sandbox === null) return <p className="pane-absent quiet">Its sandbox is gone.</p>;
  return <ReviewPane sandbox={sandbox} />;
}

/** What waits for the person who looks: each sees their own. */
function Approvals() {
  const items = useInbox();
  if (items.length === 0) return <p className="pane-absent quiet">Nothing waits for you.</p>;
  return (
    <ul className="asks pane-scroll">
      {items.map((item) => (
        <li key={item.id} className="asking">
          <InboxItem item={item} />
        </li>
      ))}
    </ul>
  );
}

/** The pane of an item's kind; one that this page cannot show stays a plain card. */
export function PaneOf({ item }: PaneProps) {
  switch (item.kind) {
    case 'diff':
      return <Diff item={item} />;
    case 'approvals':
      return <Approvals />;
    default:
      return (
        <p className="pane-absent quiet">
          {KIND_WORDS[item.kind] ?? item.kind}: this page cannot show it yet.
        </p>
      );
  }
}
