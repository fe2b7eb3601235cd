/**
 * Panes that other parts of the page show inside an item, by its kind.
 *
 * Each is fetched when one is first on a dashboard.
 */

import { Item as InboxItem } from '../../components/inbox/InboxItems';
import { useInbox } from '../../components/inbox/Inbox';
import { Recent } from '../../components/frame/Recent';
import { later } from '../../components/parts/later';
import { NoFiles, noFilesWords } from '../../components/files/NoFiles';
import { t } from '../../language/t';
import { login } from '../../state/login';
import type { PreviewPlace } from '../../state/previews/places';
import { useStore } from '../../state/store';
import { useKnown } from '../../state/team/visited';
import { KIND_WORDS, type Item } from '../document/items';

export interface PaneProps {
  readonly item: Item;
}

const ReviewPane = later(async () => (await import('../../components/review/ReviewPane')).default);
const FilesPane = later(async () => (await import('../../components/files/FilesPane')).default);
const FileItem = later(async () => (await import('./FileItem')).FileItem);
const PreviewPane = later(
  async () => (await import('../../components/previews/PreviewPane')).PreviewPane,
);

/** What a sandbox has to show: its diff, its files, one of them, or a server inside. */
function Inside({ item }: PaneProps) {
  const sandbox = useKnown(item.sandboxId);
  if (sandbox === undefined)
    return <p className="pane-absent quiet">{t`Looking for its sandbox…`}</p>;
  if (sandbox === null) {
    return (
      <p className="pane-absent quiet">
        {item.sandboxId === null ? t`It names no sandbox.` : t`Its sandbox is gone.`}
      </p>
    );
  }
  const none = noFilesWords(sandbox);
  if (none !== null) return <NoFiles words={none} />;
  switch (item.kind) {
    case 'files':
      return <FilesPane sandbox={sandbox} />;
    case 'viewer':
    case 'image':
      return <FileItem {...{ sandbox, item }} />;
    case 'preview':
      return (
        <PreviewPane
          key={`${item.port ?? ''}${item.path}`}
          {...{ sandbox }}
          start={startOf(item)}
        />
      );
    default:
      return <ReviewPane sandbox={sandbox} />;
  }
}

/** Where a preview begins on this page. What its person opens in it is their own. */
function startOf({ port, path }: Item): PreviewPlace {
  return { port, path: path === '' ? '/' : path };
}

/** What waits for the person who looks: each sees their own. */
function Approvals() {
  const items = useInbox();
  if (items.length === 0) return <p className="pane-absent quiet">{t`Nothing waits for you.`}</p>;
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
  if (useStore(login).is === 'guest')
    return (
      <p className="pane-absent quiet">{t`${KIND_WORDS()[item.kind] ?? item.kind}: your link does not show it.`}</p>
    );
  switch (item.kind) {
    case 'diff':
    case 'files':
    case 'viewer':
    case 'image':
    case 'preview':
      return <Inside item={item} />;
    case 'events':
      return (
        <div className="pane-scroll">
          <Recent />
        </div>
      );
    case 'approvals':
      return <Approvals />;
    default:
      return (
        <p className="pane-absent quiet">
          {t`${KIND_WORDS()[item.kind] ?? item.kind}: this page cannot show it yet.`}
        </p>
      );
  }
}
