/** The slim line above a terminal: who is here, who drives, and what can be done with it. */

import type { ReactNode } from 'react';
import type { Terminal } from '../../api/types';
import { login } from '../../state/login';
import { useStore } from '../../state/store';
import type { AttachStatus } from '../../terminal/attach/status';
import { actWords, controlActs, roleWords, type ControlAct } from '../../terminal/attach/turns';
import type { TerminalView } from '../../terminal/screen/view';
import { Icon, type IconName } from '../parts/icons';
import { People } from '../people/People';
import { TalkBox } from '../people/TalkBox';
import { RecordingMark } from '../recordings/RecordingMark';

interface PaneBarProps {
  readonly sandboxId: string;
  readonly terminal: Terminal;
  readonly status: AttachStatus | null;
  readonly view: TerminalView | null;
  readonly cards: boolean;
  readonly onCards: () => void;
  readonly onShare: () => void;
  readonly onSearch: () => void;
  readonly onText: () => void;
  /** An agent's part of the line. */
  readonly children?: ReactNode;
}

export function PaneBar(props: PaneBarProps) {
  const { sandboxId, terminal, status, view, cards, onCards, onShare } = props;
  const owner = useStore(login).is === 'in';
  return (
    <div className="pane-bar">
      {status !== null && (
        <>
          <Turn status={status} view={view} />
          <RecordingMark {...{ sandboxId, owner, status }} terminalId={terminal.terminal_id} />
        </>
      )}
      {props.children}
      <span className="spring" />
      {status !== null && status.cols > 0 && (
        <span className="pane-size wide-only" title="Columns × rows">
          {status.cols} × {status.rows}
        </span>
      )}
      <Tool
        icon={cards ? 'terminal' : 'cards'}
        label={cards ? 'Show the terminal' : 'Show as cards'}
        onClick={onCards}
      />
      {owner && <Tool icon="share" label="Share this terminal" onClick={onShare} />}
      {!cards && <ScreenTools {...props} />}
    </div>
  );
}

interface TurnProps {
  readonly status: AttachStatus;
  readonly view: TerminalView | null;
}

function Turn({ status, view }: TurnProps) {
  return (
    <>
      <People status={status} view={view} />
      <TalkBox status={status} view={view} />
      <span className="pane-role">{roleWords(status)}</span>
      {controlActs(status).map((act) => (
        <button
          key={act}
          type="button"
          className="button button-slim"
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => run(act, view)}
        >
          {actWords[act]}
        </button>
      ))}
    </>
  );
}

function run(act: ControlAct, view: TerminalView | null): void {
  switch (act) {
    case 'ask':
      view?.requestControl();
      break;
    case 'withdraw':
    case 'release':
      view?.revokeControl();
      break;
    case 'take':
      view?.takeControl();
      break;
  }
}

function ScreenTools({ status, view, onSearch, onText }: PaneBarProps) {
  return (
    <>
      <Tool
        icon="copy"
        label="Copy selection (Ctrl Shift C)"
        onClick={() => void view?.copySelection()}
      />
      <Tool icon="search" label="Search (Ctrl Shift F)" onClick={onSearch} />
      <Tool icon="text" label="Show as text" onClick={onText} />
      {status?.drives === true && (
        <Tool
          icon="fit"
          label="Fit the terminal to this screen"
          onClick={() => view?.fitToScreen()}
        />
      )}
    </>
  );
}

interface ToolProps {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
}

function Tool({ icon, label, onClick }: ToolProps) {
  return (
    <button
      type="button"
      className={`button-icon tool-${icon}`}
      aria-label={label}
      title={label}
      // A click on a tool must not end the selection or take the keyboard.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
