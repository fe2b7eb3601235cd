/** What lies over a terminal's lower edge when it is not simply live. */

import { useEffect, useState } from 'react';
import { t } from '../../language/t';
import { isOver, type AttachStatus } from '../../terminal/attach/status';
import type { TerminalView } from '../../terminal/screen/view';
import { TurnNotice } from './TurnNotice';
import { exitWords } from '../parts/words';

interface PaneNoticeProps {
  readonly status: AttachStatus | null;
  /** What was refused a moment ago, in words; null when nothing was. */
  readonly refused: string | null;
  readonly view: TerminalView | null;
  readonly onUnlock: () => void;
}

export function PaneNotice({ status, refused, view, onUnlock }: PaneNoticeProps) {
  if (status === null || status.phase === 'closed') return null;
  if (status.phase === 'live' && !status.quiet)
    return <TurnNotice status={status} {...{ refused, view, onUnlock }} />;
  const ended = isOver(status.phase);
  return (
    <div className={ended ? 'pane-notice pane-notice-end' : 'pane-notice'} role="status">
      <Words status={status} refused={refused !== null} />
      {isCut(status) && (
        <button type="button" className="button button-small" onClick={() => view?.retryNow()}>
          {t`Reconnect now`}
        </button>
      )}
      {status.phase === 'parked' && (
        <button
          type="button"
          className="button button-small button-primary"
          onClick={() => {
            view?.takeBack();
            view?.focus();
          }}
        >
          {t`Take back`}
        </button>
      )}
    </div>
  );
}

/** Whether bytes flowed and do no more. */
function isCut({ phase, quiet, resumes }: AttachStatus): boolean {
  return phase === 'waiting' || quiet || (phase === 'connecting' && resumes);
}

function Words({ status, refused }: { readonly status: AttachStatus; readonly refused: boolean }) {
  switch (status.phase) {
    case 'connecting':
      if (!status.resumes) return <span>{t`Connecting…`}</span>;
      return <Cut refused={refused} until={0} />;
    case 'waiting':
      return <Cut refused={refused} until={status.retryAt} />;
    case 'parked':
      return <span>{t`This terminal moved to another tab of yours.`}</span>;
    case 'ended':
      return (
        <span>{t`The program ended: ${status.exit === null ? '' : exitWords(plain(status.exit))}.`}</span>
      );
    case 'gone':
      return <span>{status.reason === '' ? t`This terminal is gone.` : status.reason}</span>;
    case 'revoked':
      return <span>{t`Your access has ended. Ask whoever invited you for a new link.`}</span>;
    case 'live':
      // Live and quiet: it is only slow, or it is given up in a few seconds.
      return <Quiet refused={refused} />;
    case 'closed':
      return null;
  }
}

function plain(exit: NonNullable<AttachStatus['exit']>): Readonly<Record<string, unknown>> {
  return exit.kind === 'code' ? { code: exit.code } : { signal: exit.signal };
}

function Quiet({ refused }: { readonly refused: boolean }) {
  return <span>{refused ? t`Not typed: offline.` : t`Offline: the server does not answer.`}</span>;
}

interface CutProps {
  readonly refused: boolean;
  /** When the next try is due; 0: it is under way; null: the screen catches up first. */
  readonly until: number | null;
}

function Cut({ refused, until }: CutProps) {
  return (
    <span>
      {refused ? t`Not typed: disconnected.` : t`Disconnected.`} <Countdown until={until} />
    </span>
  );
}

function Countdown({ until }: { readonly until: number | null }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 500);
    return () => window.clearInterval(timer);
  }, []);
  if (until === null) return <>{t`Catching up…`}</>;
  const seconds = Math.ceil((until - now) / 1000);
  return <>{seconds > 0 ? t`Trying again in ${seconds} s` : t`Trying again…`}</>;
}
