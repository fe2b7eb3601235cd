/** The one thing that lies over a dashboard. */

import { later } from '../../components/parts/later';
import { useKnown } from '../../state/team/visited';
import type { Item } from '../document/items';
import type { Comments } from '../comments/useComments';
import { HelpDialog } from './HelpDialog';
import { NameDialog } from '../list/dialogs';
import type { OpenDashboard } from '../view/useDashboard';

export type Over =
  | { readonly is: 'help' | 'share' | 'history' | 'rename' }
  /** `item`: the todo that is handed over, or the pane whose agent has ended, and which nobody
   *  knows any more; null for a new agent. */
  | { readonly is: 'task'; readonly item: Item | null }
  | { readonly is: 'answer' | 'home'; readonly sandbox: string }
  | { readonly is: 'comments'; readonly item: string | null };

const ShareBoard = later(async () => (await import('../list/ShareBoard')).ShareBoard);
const History = later(async () => (await import('../list/History')).History);
const TaskDialog = later(async () => (await import('./TaskDialog')).TaskDialog);
const HomeDialog = later(async () => (await import('../../components/home/HomeDialog')).HomeDialog);
const AnswerDialog = later(async () => (await import('./AnswerDialog')).AnswerDialog);
const CommentsPanel = later(async () => (await import('../comments/CommentsPanel')).CommentsPanel);

interface BoardOverProps {
  readonly id: string;
  readonly open: OpenDashboard;
  readonly over: Over;
  readonly comments: Comments;
  readonly phone: boolean;
  readonly onClose: () => void;
}

export function BoardOver({ id, open, over, comments, phone, onClose }: BoardOverProps) {
  const { dashboard } = open;
  switch (over.is) {
    case 'help':
      return <HelpDialog onClose={onClose} />;
    case 'task':
      return <TaskDialog {...{ id, open, onClose }} item={over.item} />;
    case 'share':
      return <ShareBoard {...{ id, open, onClose }} />;
    case 'history':
      return <History {...{ id, open, onClose }} />;
    case 'rename':
      return dashboard === null ? null : (
        <NameDialog act="rename" dashboard={dashboard} onDone={open.reload} onClose={onClose} />
      );
    case 'answer':
      return <AnswerDialog sandboxId={over.sandbox} onClose={onClose} />;
    case 'home':
      return <BringHome sandboxId={over.sandbox} onClose={onClose} />;
    case 'comments':
      return <CommentsPanel {...{ open, comments, phone, onClose }} item={over.item} />;
  }
}

interface BringHomeProps {
  readonly sandboxId: string;
  readonly onClose: () => void;
}

function BringHome({ sandboxId, onClose }: BringHomeProps) {
  const sandbox = useKnown(sandboxId) ?? null;
  return sandbox === null ? null : <HomeDialog {...{ sandbox, onClose }} />;
}
