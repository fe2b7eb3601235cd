/** The one thing that lies over a dashboard. */

import { later } from '../../components/parts/later';
import { useKnown } from '../../state/team/visited';
import type { Item } from '../document/items';
import { promptOf } from '../comments/mentions';
import type { Comments } from '../comments/useComments';
import { HelpDialog } from './HelpDialog';
import type { Comment } from '../list/api';
import { NameDialog } from '../list/dialogs';
import type { OpenDashboard } from '../view/useDashboard';

export type Over =
  | { readonly is: 'help' | 'share' | 'history' | 'rename' }
  /** `item`: the todo that is handed over, or the pane whose agent has ended, and which nobody
   *  knows any more; null for a new agent. */
  | { readonly is: 'task'; readonly item: Item | null; readonly words: string | null }
  /** An agent at work in a sandbox is asked for what a comment says. */
  | { readonly is: 'ask'; readonly sandbox: string; readonly words: string }
  | { readonly is: 'answer' | 'home'; readonly sandbox: string }
  | { readonly is: 'comments'; readonly item: string | null };

const ShareBoard = later(async () => (await import('../list/ShareBoard')).ShareBoard);
const History = later(async () => (await import('../list/History')).History);
const TaskDialog = later(async () => (await import('./TaskDialog')).TaskDialog);
const HomeDialog = later(async () => (await import('../../components/home/HomeDialog')).HomeDialog);
const AskDialog = later(
  async () => (await import('../../components/previews/AskDialog')).AskDialog,
);
const AnswerDialog = later(async () => (await import('./AnswerDialog')).AnswerDialog);
const CommentsPanel = later(async () => (await import('../comments/CommentsPanel')).CommentsPanel);

interface BoardOverProps {
  readonly id: string;
  readonly open: OpenDashboard;
  readonly over: Over;
  readonly comments: Comments;
  readonly phone: boolean;
  /** Whether its reader may begin agents. */
  readonly works: boolean;
  readonly onOver: (over: Over) => void;
  readonly onClose: () => void;
}

export function BoardOver(props: BoardOverProps) {
  const { id, open, over, comments, phone, works, onOver, onClose } = props;
  const { dashboard, stage } = open;

  switch (over.is) {
    case 'help':
      return <HelpDialog onClose={onClose} />;
    case 'task':
      return <TaskDialog {...{ id, open, onClose }} item={over.item} words={over.words} />;
    case 'ask':
      return (
        <AskDialog
          sandboxId={over.sandbox}
          words={over.words}
          picture={null}
          onOther={(words) => onOver({ is: 'task', item: null, words })}
          onClose={onClose}
        />
      );
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
      return (
        <CommentsPanel
          {...{ open, comments, phone, onClose }}
          item={over.item}
          onDo={
            works ? (comment) => onOver(doing(comment, stage.board.item(comment.item_id))) : null
          }
        />
      );
  }
}

/** Who does what a comment says: an agent of the sandbox that it is about, else a new one. */
function doing(comment: Comment, item: Item | null): Over {
  const words = promptOf(comment, item);
  const sandbox = item?.sandboxId ?? item?.task?.sandboxId ?? null;
  return sandbox === null ? { is: 'task', item: null, words } : { is: 'ask', sandbox, words };
}

interface BringHomeProps {
  readonly sandboxId: string;
  readonly onClose: () => void;
}

function BringHome({ sandboxId, onClose }: BringHomeProps) {
  const sandbox = useKnown(sandboxId) ?? null;
  return sandbox === null ? null : <HomeDialog {...{ sandbox, onClose }} />;
}
