/** Over a live terminal's lower edge: who asks for control, and why keys went nowhere. */

import { useState } from 'react';
import { t } from '../../language/t';
import { phone } from '../../state/screen';
import type { AttachStatus } from '../../terminal/attach/status';
import { controlActs, mayUnlock } from '../../terminal/attach/turns';
import type { TerminalView } from '../../terminal/screen/view';

interface TurnNoticeProps {
  readonly status: AttachStatus;
  /** What was refused a moment ago, in words; null when nothing was. */
  readonly refused: string | null;
  readonly view: TerminalView | null;
  /** Lifts an agent's strict lock for its owner. */
  readonly onUnlock: () => void;
}

export function TurnNotice({ status, refused, view, onUnlock }: TurnNoticeProps) {
  const [passedOver, setPassedOver] = useState<string | null>(null);
  const { control, drives, me } = status;
  const asker = control?.waiting.find(({ client }) => client !== me?.client) ?? null;
  if (refused !== null) return <Refused {...{ status, refused, view, onUnlock }} />;
  if (asker === null || !(drives || me?.role === 'owner')) return null;
  const request = `${asker.client} ${control?.epoch ?? 0}`;
  if (passedOver === request) return null;
  return (
    <div className="pane-notice pane-notice-now" role="alert">
      <span>{t`${asker.name} asks for control`}</span>
      <span className="pane-notice-acts">
        <button
          type="button"
          className="button button-small"
          onClick={() => {
            setPassedOver(request);
            backTo(view);
          }}
        >
          {t`Not now`}
        </button>
        <button
          type="button"
          className="button button-small button-primary"
          onClick={() => {
            view?.grantControl(asker.client);
            backTo(view);
          }}
        >
          {t`Give control`}
        </button>
      </span>
    </div>
  );
}

function Refused({ status, refused, view, onUnlock }: TurnNoticeProps) {
  return (
    <div className="pane-notice pane-notice-now" role="alert">
      <span>{refused}</span>
      {mayUnlock(status) && (
        <button type="button" className="button button-small" onClick={onUnlock}>
          {t`Type anyway (Ctrl Shift Y)`}
        </button>
      )}
      {controlActs(status).includes('ask') && (
        <button
          type="button"
          className="button button-small"
          onClick={() => {
            view?.requestControl();
            backTo(view);
          }}
        >
          {t`Ask for control`}
        </button>
      )}
    </div>
  );
}

/** The keyboard goes back to the terminal, as the button that had it goes away; on a touch screen it
 *  would cover the page. */
export function backTo(view: TerminalView | null): void {
  if (!phone.matches) view?.focus();
}
