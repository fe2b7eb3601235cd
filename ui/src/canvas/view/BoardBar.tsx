/** The line above a dashboard: its name, whether all is kept, who is here, and the way to share. */

import { MenuButton } from '../../components/parts/MenuButton';
import { Icon } from '../../components/parts/icons';
import { plural, t } from '../../language/t';
import { goTo } from '../../state/route';
import { PeopleBar } from '../presence/PeopleBar';
import type { DocumentStatus } from '../sync/connection';
import type { OpenDashboard } from './useDashboard';

interface BoardBarProps {
  readonly open: OpenDashboard;
  /** How many terminals are being opened. */
  readonly opening: number;
  readonly openComments: number;
  /** Null for a guest, who has no other pages. */
  readonly onMenu: (() => void) | null;
  readonly onShare: () => void;
  readonly onHistory: () => void;
  readonly onRename: () => void;
  /** Null where this server knows no comments. */
  readonly onComments: (() => void) | null;
}

export function BoardBar(props: BoardBarProps) {
  const { open, opening, openComments, onMenu, onShare, onHistory, onRename, onComments } = props;
  const { dashboard, stage, peers, status, session } = open;
  return (
    <header className="board-bar">
      {onMenu !== null && <Ways onMenu={onMenu} />}
      <h1 className="board-title">
        {stage.works ? (
          <button type="button" title={t`Rename`} onClick={onRename}>
            {dashboard?.name ?? '…'}
          </button>
        ) : (
          (dashboard?.name ?? '…')
        )}
      </h1>
      <Kept status={status} onRetry={session.retry} />
      {opening > 0 && (
        <span className="board-opening" role="status">
          {plural(opening, { one: 'Opening a terminal…', other: 'Opening # terminals…' })}
        </span>
      )}
      <span className="spring" />
      <PeopleBar stage={stage} peers={peers} />
      {!open.guest && (
        <button
          type="button"
          className="button-icon"
          aria-label={t`History`}
          title={t`History`}
          onClick={onHistory}
        >
          <Icon name="clock" />
        </button>
      )}
      {onComments !== null && <CommentsButton open={openComments} onPress={onComments} />}
      {!open.guest && (
        <button
          type="button"
          className="button button-small button-primary"
          aria-label={t`Share`}
          onClick={onShare}
        >
          <Icon name="share" />
          <span className="roomy-only">{t`Share`}</span>
        </button>
      )}
    </header>
  );
}

/** The ways to the other pages. */
function Ways({ onMenu }: { readonly onMenu: () => void }) {
  return (
    <>
      <MenuButton onMenu={onMenu} />
      <button
        type="button"
        className="button-icon"
        aria-label={t`All dashboards`}
        title={t`All dashboards`}
        onClick={() => goTo('dashboards')}
      >
        <Icon name="board" />
      </button>
    </>
  );
}

interface CommentsButtonProps {
  readonly open: number;
  readonly onPress: () => void;
}

function CommentsButton({ open, onPress }: CommentsButtonProps) {
  return (
    <button
      type="button"
      className="button button-small"
      aria-label={open === 0 ? t`Comments` : t`Comments: ${open} open`}
      onClick={onPress}
    >
      <Icon name="comment" />
      <span className="roomy-only">{open === 0 ? t`Comments` : open}</span>
    </button>
  );
}

interface KeptProps {
  readonly status: DocumentStatus;
  readonly onRetry: () => void;
}

/** Whether what one does is kept; it says so in words, for those who see no dot, too. */
function Kept({ status, onRetry }: KeptProps) {
  const { phase, saved, role, loaded, reason } = status;
  if (phase === 'over')
    return (
      <span className="board-kept board-cut" role="status">
        {reason}
      </span>
    );
  if (phase !== 'live' && (loaded || phase === 'waiting'))
    return (
      <span className="board-kept board-cut" role="status">
        {saved ? t`Offline` : t`Offline: your edits are kept here`}
        <button type="button" className="button button-slim" onClick={onRetry}>
          {t`Try now`}
        </button>
      </span>
    );
  return (
    <span className="board-kept" role="status">
      {loaded ? keptWords(role === 'viewer', saved) : t`Opening…`}
    </span>
  );
}

function keptWords(viewer: boolean, saved: boolean): string {
  if (viewer) return t`View only`;
  return saved ? t`Saved` : t`Saving…`;
}
