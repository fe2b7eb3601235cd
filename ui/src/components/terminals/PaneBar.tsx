/** The slim line at a terminal: who is here, who drives, and what can be done with it. */

import { useState, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import type { Terminal } from '../../api/types';
import { t, worded } from '../../language/t';
import { useRights } from '../../state/team/useRights';
import { everybody } from '../../terminal/attach/party';
import type { AttachStatus } from '../../terminal/attach/status';
import { actWords, controlActs, roleWords, type ControlAct } from '../../terminal/attach/turns';
import type { TerminalView } from '../../terminal/screen/view';
import type { Zoom } from '../../terminal/size/zoom';
import { Icon, type IconName } from '../parts/icons';
import { People } from '../people/People';
import { TalkBox } from '../people/TalkBox';
import { backTo } from './TurnNotice';
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
  readonly onSize: () => void;
  /** Where people and the way to share are shown instead of here. */
  readonly people: HTMLElement | null;
  /** An agent's part of the line. */
  readonly children?: ReactNode;
}

export function PaneBar(props: PaneBarProps) {
  const { sandboxId, terminal, status, view, cards, onCards, onShare, people } = props;
  const { works, manages } = useRights(sandboxId);
  return (
    <div className={isQuiet(status) ? 'pane-bar pane-bar-quiet' : 'pane-bar'}>
      {people !== null && <InHead {...{ people, status, view, manages, onShare }} />}
      {status !== null && (
        <>
          <Turn status={status} view={view} here={people === null} />
          <RecordingMark {...{ sandboxId, works, status }} terminalId={terminal.terminal_id} />
        </>
      )}
      {props.children}
      <span className="spring" />
      {status !== null && status.cols > 0 && (
        <SizeButton {...{ works, status }} onSize={props.onSize} />
      )}
      {!cards && <ZoomChoice status={status} view={view} />}
      <Tool
        icon={cards ? 'terminal' : 'cards'}
        label={cards ? t`Show the terminal` : t`Show as cards`}
        onClick={onCards}
      />
      {manages && people === null && (
        <Tool icon="share" label={t`Share this terminal`} onClick={onShare} />
      )}
      {!cards && <ScreenTools {...props} />}
    </div>
  );
}

interface InHeadProps extends Pick<PaneBarProps, 'status' | 'view' | 'onShare'> {
  readonly people: HTMLElement;
  readonly manages: boolean;
}

/** Who is at a terminal alone in view, and the way to share it, in the head of its sandbox. */
function InHead({ people, status, view, manages, onShare }: InHeadProps) {
  return createPortal(
    <>
      {status !== null && <People status={status} view={view} />}
      {manages && (
        <button
          type="button"
          className="button button-small"
          aria-label={t`Share this terminal`}
          onClick={onShare}
        >
          {t`Share`}
        </button>
      )}
    </>,
    people,
  );
}

/** Whether it may stand back while nobody points at it: its person drives alone, and nothing of it
 *  says more than that. */
function isQuiet(status: AttachStatus | null): boolean {
  if (status === null || status.phase !== 'live' || !status.drives) return false;
  const alone = status.control === null || everybody(status.control).length <= 1;
  const told = status.agent?.state === 'paused' || status.agent?.strict === true;
  return alone && !told && status.recording?.on !== true && !status.fixed;
}

interface SizeButtonProps {
  readonly works: boolean;
  readonly status: AttachStatus;
  readonly onSize: () => void;
}

/** The size, and for whoever works here the way to fix it. */
function SizeButton({ works, status, onSize }: SizeButtonProps) {
  const words = `${status.cols} × ${status.rows}${status.fixed ? ' fixed' : ''}`;
  if (!works) {
    return (
      <span className="pane-size wide-only" title={t`Columns × rows`}>
        {words}
      </span>
    );
  }
  return (
    <button
      type="button"
      className="button button-slim pane-size wide-only"
      aria-label={t`Size: ${words}`}
      title={t`Columns × rows: fix the size`}
      onClick={onSize}
    >
      {words}
    </button>
  );
}

const ZOOMS = worded<readonly { value: Zoom; words: string }[]>(() => [
  { value: 'all', words: t`All of it` },
  { value: 'width', words: t`Full width` },
  { value: 'text', words: t`Text size` },
]);

/** How a screen is shown that has not this window's size. */
function ZoomChoice({ status, view }: Pick<PaneBarProps, 'status' | 'view'>) {
  const [zoom, setZoom] = useState<Zoom>(view?.zoom ?? 'all');
  if (status === null || (status.drives && !status.fixed)) return null;
  return (
    <select
      className="pane-zoom"
      aria-label={t`Zoom`}
      value={zoom}
      onChange={(event) => {
        const next = ZOOMS().find(({ value }) => value === event.target.value)?.value ?? 'all';
        setZoom(next);
        view?.setZoom(next);
      }}
    >
      {ZOOMS().map(({ value, words }) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
}

interface TurnProps {
  readonly status: AttachStatus;
  readonly view: TerminalView | null;
  /** Whether people are shown here. */
  readonly here: boolean;
}

function Turn({ status, view, here }: TurnProps) {
  return (
    <>
      {here && <People status={status} view={view} />}
      <TalkBox status={status} view={view} />
      <span className="pane-role">{roleWords(status)}</span>
      {controlActs(status).map((act) => (
        <button
          key={act}
          type="button"
          className="button button-slim"
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => {
            run(act, view);
            backTo(view);
          }}
        >
          {actWords()[act]}
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
        label={t`Copy selection (Ctrl Shift C)`}
        onClick={() => void view?.copySelection()}
      />
      <Tool icon="search" label={t`Search (Ctrl Shift F)`} onClick={onSearch} />
      <Tool icon="text" label={t`Show as text`} onClick={onText} />
      {status?.drives === true && !status.fixed && (
        <Tool
          icon="fit"
          label={t`Fit the terminal to this screen`}
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
