/** The slim line above a terminal: who drives, its size, and what can be done with it. */

import type { AttachStatus } from '../terminal/attach';
import { Icon, type IconName } from './icons';

interface PaneBarProps {
  readonly status: AttachStatus | null;
  readonly onSearch: () => void;
  readonly onText: () => void;
  readonly onFit: () => void;
  readonly onCopy: () => void;
  readonly onAsk: () => void;
}

export function PaneBar({ status, onSearch, onText, onFit, onCopy, onAsk }: PaneBarProps) {
  return (
    <div className="pane-bar">
      <span className="pane-role">{roleWords(status)}</span>
      {status !== null && status.cols > 0 && (
        <span className="pane-size" title="Columns × rows">
          {status.cols} × {status.rows}
        </span>
      )}
      <span className="spring" />
      <Tool icon="copy" label="Copy selection (Ctrl Shift C)" onClick={onCopy} />
      <Tool icon="search" label="Search (Ctrl Shift F)" onClick={onSearch} />
      <Tool icon="text" label="Show as text" onClick={onText} />
      {status?.phase === 'live' && !status.drives && status.driver !== null && (
        <Tool icon="terminal" label="Ask for control" onClick={onAsk} />
      )}
      {status?.drives === true && (
        <Tool icon="fit" label="Fit the terminal to this screen" onClick={onFit} />
      )}
    </div>
  );
}

function roleWords(status: AttachStatus | null): string {
  if (status?.phase !== 'live') return ' ';
  if (status.drives) return 'You drive';
  return status.driver === null ? 'Nobody drives: type to take the wheel' : 'Watching';
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
      className="button-icon"
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
