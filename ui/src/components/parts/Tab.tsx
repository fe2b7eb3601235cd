/** One terminal's tab: what runs there, how it ended, and its close button. */

import { Tabs } from '@base-ui/react/tabs';
import type { Terminal } from '../../api/types';
import { t } from '../../language/t';
import type { AttachStatus } from '../../terminal/attach/status';
import { Icon } from './icons';
import { tabOf } from './TabList';
import { agentWords, exitWords, terminalWords } from './words';

interface TabProps {
  readonly terminal: Terminal;
  readonly status: AttachStatus | undefined;
  /** The agent that runs there; null where it is another program. */
  readonly agent: string | null;
  readonly selected: boolean;
  readonly onChoose: () => void;
  /** Null for whoever only watches, as is `onRename`. */
  readonly onClose: (() => void) | null;
  readonly onRename: (() => void) | null;
  /** Moves it so many places. */
  readonly onMove: (by: number) => void;
}

/** The keys of a tab, for people and for screen readers. */
function keysOf(words: string, works: boolean) {
  const keys = works
    ? t`F2 renames, Alt and an arrow moves, Delete closes`
    : t`Alt and an arrow moves`;
  return {
    // eslint-disable-next-line words/written -- names of keys, as ARIA spells them
    'aria-keyshortcuts': `${works ? 'Delete F2 ' : ''}Alt+ArrowLeft Alt+ArrowRight`,
    title: `${words} (${keys})`,
  };
}

export function Tab({ terminal, status, agent, selected, ...calls }: TabProps) {
  const { onChoose, onClose, onRename, onMove } = calls;
  const title = status?.title ?? '';
  const words =
    agent === null ? terminalWords(terminal, title) : agentWords(agent, terminal, title);
  // An agent's title changes with each turn, and its tab must not.
  const face = agent === null ? words : agentWords(agent, { ...terminal, title: '' }, '');
  const exit = exitNote(terminal, status);
  return (
    <div className={selected ? 'tab tab-on' : 'tab'} role="presentation">
      <Tabs.Tab
        {...tabOf(terminal.terminal_id, selected)}
        {...keysOf(words, onClose !== null)}
        onClick={onChoose}
        onDoubleClick={() => onRename?.()}
        onAuxClick={(event) => {
          if (event.button === 1) onClose?.();
        }}
        onKeyDown={(event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          if (event.key === 'Delete') onClose?.();
          else if (event.key === 'F2') onRename?.();
          else if (event.altKey && step !== undefined) {
            event.preventDefault();
            event.stopPropagation();
            onMove(step);
          }
        }}
      >
        <Icon name={agent === null ? 'terminal' : 'agent'} />
        <span className="tab-words">{face}</span>
        {exit !== null && (
          <span className={exit === 'exit 0' ? 'badge' : 'badge badge-bad'}>{exit}</span>
        )}
        {status?.phase === 'waiting' && <span className="badge badge-warn">{t`offline`}</span>}
      </Tabs.Tab>
      {onClose !== null && <CloseButton {...{ words, selected, onClose }} />}
    </div>
  );
}

interface CloseButtonProps {
  readonly words: string;
  readonly selected: boolean;
  readonly onClose: () => void;
}

function CloseButton({ words, selected, onClose }: CloseButtonProps) {
  return (
    <button
      type="button"
      className="tab-close"
      tabIndex={selected ? 0 : -1}
      aria-label={t`Close ${words}`}
      onClick={onClose}
    >
      <Icon name="close" />
    </button>
  );
}

function exitNote(terminal: Terminal, status: AttachStatus | undefined): string | null {
  const exit = status?.exit ?? null;
  if (exit !== null) {
    return exitWords(exit.kind === 'code' ? { code: exit.code } : { signal: exit.signal });
  }
  return terminal.state === 'exited' ? exitWords(terminal.exit) : null;
}
