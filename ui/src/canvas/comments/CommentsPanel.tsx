/** The comments of a dashboard, or of one of its items: read, answer, resolve. */

import { useState, type ReactNode } from 'react';
import { Avatar } from '../../components/parts/Avatar';
import { Dialog } from '../../components/parts/Dialog';
import { Icon } from '../../components/parts/icons';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { age, tick } from '../../state/clock';
import { useDraft } from '../../state/drafts';
import { useStore } from '../../state/store';
import { team } from '../../state/team/team';
import { nameOf } from '../document/items';
import { dashboardsApi, type Comment } from '../list/api';
import { managesBoard, mayResolve } from '../list/manages';
import type { OpenDashboard } from '../view/useDashboard';
import { mentionsIn } from './mentions';
import type { Comments } from './useComments';

interface CommentsPanelProps {
  readonly open: OpenDashboard;
  readonly comments: Comments;
  /** The item that they are about; null: all. */
  readonly item: string | null;
  readonly phone: boolean;
  /** Has an agent do what a comment says; null where its reader may begin none. */
  readonly onDo: ((comment: Comment) => void) | null;
  readonly onClose: () => void;
}

const MAX_TEXT = 4_000;

export function CommentsPanel(props: CommentsPanelProps) {
  const { open, comments, item, phone, onDo, onClose } = props;
  const { dashboard, stage } = open;
  const [resolved, setResolved] = useState(false);
  const about = item === null ? null : stage.board.item(item);
  const list = comments.list.filter(
    (one) => (item === null || one.item_id === item) && (resolved || !one.resolved),
  );
  const title = about === null ? t`Comments` : t`On “${nameOf(about)}”`;
  const Around = phone ? Dialog : Side;
  const may = !open.guest || stage.edits;
  return (
    <Around title={title} onClose={onClose}>
      <label className="check">
        <input
          type="checkbox"
          checked={resolved}
          onChange={({ target }) => setResolved(target.checked)}
        />
        {t`Show resolved ones`}
      </label>
      <ul className="comments">
        {list.map((comment) => (
          <Line
            key={comment.id}
            {...{ comment, open, onDo }}
            named={item === null}
            onMoved={comments.reload}
            onVisit={phone ? onClose : STAY}
          />
        ))}
      </ul>
      {list.length === 0 && <p className="quiet">{t`None yet.`}</p>}
      {item !== null && dashboard !== null && may && (
        <NewComment {...{ open, item }} id={dashboard.id} onMade={comments.reload} />
      )}
      {item === null && may && (
        <p className="quiet">{t`Choose an item and press C to comment on it.`}</p>
      )}
    </Around>
  );
}

/** The canvas stays in view beside it: one reads what it is about. */
const STAY = (): void => undefined;

interface SideProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Brings the keyboard to where one writes, as it opens. */
function focusField(side: HTMLElement | null): void {
  (side?.querySelector<HTMLElement>('textarea') ?? side?.querySelector('button'))?.focus();
}

/** Beside the canvas, which goes on. */
function Side({ title, onClose, children }: SideProps) {
  return (
    <aside
      ref={focusField}
      className="board-side"
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onClose();
      }}
    >
      <header className="dialog-head">
        <h2>{title}</h2>
        <button type="button" className="button-icon" aria-label={t`Close`} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </aside>
  );
}

interface LineProps {
  readonly comment: Comment;
  readonly open: OpenDashboard;
  readonly named: boolean;
  readonly onDo: CommentsPanelProps['onDo'];
  readonly onMoved: () => void;
  readonly onVisit: () => void;
}

function Line({ comment, open, named, onDo, onMoved, onVisit }: LineProps) {
  const now = useStore(tick);
  const { author, text, at, resolved, item_id: on } = comment;
  const { stage, people } = open;
  const item = stage.board.item(on);
  const name = comment.author_name ?? people.find((one) => one.id === author)?.name ?? t`Somebody`;

  return (
    <li className={resolved ? 'comment comment-resolved' : 'comment'}>
      <Avatar name={name} principal={author} />
      <div className="comment-body">
        <p className="comment-head">
          <strong>{name}</strong>
          <span className="quiet">{age(at, now)}</span>
          {named && item !== null && (
            <button
              type="button"
              className="button button-slim"
              onClick={() => {
                stage.visit(item);
                onVisit();
              }}
            >
              {nameOf(item)}
            </button>
          )}
        </p>
        <p className="comment-text">{text}</p>
        {(!open.guest || author === open.me) && <Acts {...{ comment, open, onDo, onMoved }} />}
      </div>
    </li>
  );
}

type ActsProps = Pick<LineProps, 'comment' | 'open' | 'onDo' | 'onMoved'>;

/** What a member may do with a comment. */
function Acts({ comment, open, onDo, onMoved }: ActsProps) {
  const { id, author, resolved } = comment;
  const { dashboard, stage, me } = open;
  const [asked, setAsked] = useState(false);
  const manages = managesBoard(dashboard, useStore(team));

  function resolve(): void {
    if (dashboard === null) return;
    dashboardsApi
      .resolve(dashboard.id, id, !resolved)
      .then(onMoved, notifyFailure(t`It could not be changed`));
  }

  function remove(): void {
    if (dashboard === null) return;
    dashboardsApi
      .removeComment(dashboard.id, id)
      .then(onMoved, notifyFailure(t`It could not be deleted`));
  }

  return (
    <div className="comment-acts">
      {onDo !== null && !resolved && (
        <button type="button" className="button button-small" onClick={() => onDo(comment)}>
          <Icon name="agent" />
          {t`Do this`}
        </button>
      )}
      {mayResolve(comment, me, stage.works) && (
        <button type="button" className="button button-small" onClick={resolve}>
          {resolved ? t`Open again` : t`Resolve`}
        </button>
      )}
      {(author === me || manages) && (
        <button
          type="button"
          className="button button-small"
          onClick={() => (asked ? remove() : setAsked(true))}
          onBlur={() => setAsked(false)}
        >
          {asked ? t`Delete for good` : t`Delete`}
        </button>
      )}
    </div>
  );
}

interface NewCommentProps {
  readonly open: OpenDashboard;
  readonly id: string;
  readonly item: string;
  readonly onMade: () => void;
}

function NewComment({ open, id, item, onMade }: NewCommentProps) {
  const [text, setText] = useDraft(`comment:${id}:${item}`);
  const [busy, setBusy] = useState(false);
  const { people } = open;
  const mentions = mentionsIn(text, people);
  const others = people.filter((person) => person.id !== open.me);

  async function send(): Promise<void> {
    setBusy(true);
    try {
      await dashboardsApi.comment(id, { item_id: item, text: text.trim(), mentions });
      setText('');
      onMade();
    } catch (reason) {
      notifyFailure(t`It could not be sent`)(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <form
      className="comment-new"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') void send();
      }}
    >
      <textarea
        data-first-focus
        aria-label={t`Your comment`}
        rows={3}
        maxLength={MAX_TEXT}
        placeholder={t`Your comment; @name mentions somebody`}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && text.trim() !== '')
            void send();
        }}
      />
      <div className="comment-foot">
        {others.slice(0, 6).map((person) => (
          <button
            key={person.id}
            type="button"
            className="button button-slim"
            aria-pressed={mentions.includes(person.id)}
            onClick={() => setText(`${text.trimEnd()} @${person.name} `.trimStart())}
          >
            @{person.name}
          </button>
        ))}
        <span className="spring" />
        <button
          type="submit"
          className="button button-primary"
          disabled={busy || text.trim() === ''}
        >
          {t`Comment`}
        </button>
      </div>
    </form>
  );
}
