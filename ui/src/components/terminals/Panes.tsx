/** The panes of a sandbox's terminals: one in view, or several that share it, with dividers. */

import { use, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import type { Terminal } from '../../api/types';
import { t } from '../../language/t';
import { go, goTo } from '../../state/route';
import { prefersCards } from '../../state/screen';
import { clientId } from '../../terminal/attach/client-id';
import type { AttachStatus } from '../../terminal/attach/status';
import { dividersOf, panesOf, placesOf, type Divider } from '../../terminal/layout/layout';
import { fontsLoaded } from '../../terminal/screen/fonts';
import type { PageKey } from '../../terminal/screen/page-keys';
import { Icon, type IconName } from '../parts/icons';
import { Pop } from '../parts/Pop';
import { panelOf } from '../parts/TabList';
import { TerminalPane } from './TerminalPane';
import { PREVIEW, type Arrangement } from './useArrangement';

interface PanesProps {
  readonly id: string;
  readonly list: readonly Terminal[];
  readonly chosen: string;
  readonly arrangement: Arrangement;
  /** The place in the head for who is at a terminal alone in view. */
  readonly slot: HTMLElement | null;
  readonly onStatus: (terminalId: string, status: AttachStatus) => void;
  readonly onEscape: () => void;
  readonly onPalette: () => void;
}

/** How far an arrow key moves a divider. */
const STEP = 0.05;

/** A pane for every terminal that was looked at; the others are not attached at all. */
export function Panes(props: PanesProps) {
  const { id, list, chosen, arrangement, slot, onStatus } = props;
  const client = use(clientId());
  use(fontsLoaded());
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const { shown } = arrangement;
  const places = shown === null ? null : placesOf(shown);
  const visible = new Set(places?.keys() ?? [chosen]);
  const there = list.map((terminal) => terminal.terminal_id);
  const fresh = there.filter((one) => visible.has(one) && !opened.has(one));
  if (fresh.length > 0) setOpened(new Set([...opened, ...fresh]));
  const onPageKey = (key: PageKey): void => press(key, props);
  return (
    <>
      {list
        .filter((terminal) => opened.has(terminal.terminal_id))
        .map((terminal) => (
          <TerminalPane
            key={terminal.terminal_id}
            sandboxId={id}
            terminal={terminal}
            client={client}
            panel={panelOf(terminal.terminal_id)}
            visible={visible.has(terminal.terminal_id)}
            active={terminal.terminal_id === chosen}
            place={places?.get(terminal.terminal_id) ?? null}
            people={shown === null && !prefersCards() ? slot : null}
            onEnter={() => {
              if (terminal.terminal_id !== chosen) go(id, terminal.terminal_id);
            }}
            onStatus={onStatus}
            onPageKey={onPageKey}
          />
        ))}
      {shown !== null &&
        dividersOf(shown).map((divider) => (
          <DividerLine
            key={divider.path.join('')}
            divider={divider}
            onMove={(share) => arrangement.divide(divider.path, share)}
          />
        ))}
    </>
  );
}

/** What a key of the page does here. The search is the pane's own. */
function press(key: PageKey, { chosen, arrangement, onEscape, onPalette }: PanesProps): void {
  const { split, grid, zoom, move } = arrangement;
  const acts: Partial<Record<PageKey, () => void>> = {
    escape: onEscape,
    palette: onPalette,
    terminals: () => goTo('terminals', chosen),
    'split right': () => split?.('row'),
    'split down': () => split?.('column'),
    grid,
    zoom,
    left: () => move('left'),
    right: () => move('right'),
    up: () => move('up'),
    down: () => move('down'),
  };
  acts[key]?.();
}

interface DividerLineProps {
  readonly divider: Divider;
  readonly onMove: (share: number) => void;
}

/** The line between two parts: dragged, or moved by the arrow keys. */
function DividerLine({ divider, onMove }: DividerLineProps) {
  const line = useRef<HTMLDivElement>(null);
  const { direction, share, room } = divider;
  const row = direction === 'row';
  const style = row
    ? {
        left: `${(room.left + room.width * share) * 100}%`,
        top: `${room.top * 100}%`,
        height: `${room.height * 100}%`,
      }
    : {
        left: `${room.left * 100}%`,
        top: `${(room.top + room.height * share) * 100}%`,
        width: `${room.width * 100}%`,
      };

  function onPointerMove(event: PointerEvent): void {
    const box = line.current?.parentElement?.getBoundingClientRect();
    if (box === undefined || !line.current?.hasPointerCapture(event.pointerId)) return;
    const at = row
      ? (event.clientX - box.left) / box.width
      : (event.clientY - box.top) / box.height;
    onMove(row ? (at - room.left) / room.width : (at - room.top) / room.height);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const back = row ? 'ArrowLeft' : 'ArrowUp';
    const on = row ? 'ArrowRight' : 'ArrowDown';
    if (event.key !== back && event.key !== on) return;
    event.preventDefault();
    onMove(share + (event.key === on ? STEP : -STEP));
  }

  return (
    <div
      ref={line}
      className={`divider divider-${direction}`}
      style={style}
      role="separator"
      tabIndex={0}
      aria-label={t`Room of the panes beside this line`}
      aria-orientation={row ? 'vertical' : 'horizontal'}
      aria-valuenow={Math.round(share * 100)}
      aria-valuemin={10}
      aria-valuemax={90}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={onPointerMove}
      onKeyDown={onKeyDown}
    />
  );
}

/** Splitting, the grid and zoom, for those who do not know the keys yet. */
export function ArrangeButtons({ arrangement }: { readonly arrangement: Arrangement }) {
  const { possible, shown, zoomed, split, preview, grid, zoom } = arrangement;
  if (!possible) return null;
  return (
    <span className="wide-only">
      <Pop
        className="tab-tool"
        label={t`Split`}
        summary={
          <>
            <Icon name="splitRight" />
            {t`Split`}
          </>
        }
      >
        {(close) => {
          const after = (act: () => void) => () => {
            close();
            act();
          };
          return (
            <div className="menu-list" role="toolbar" aria-label={t`Panes`}>
              {split !== null && (
                <>
                  <Arrange
                    icon="splitRight"
                    words={t`Split right`}
                    keys="Ctrl Shift D"
                    onClick={after(() => split('row'))}
                  />
                  <Arrange
                    icon="splitDown"
                    words={t`Split down`}
                    keys="Ctrl Shift E"
                    onClick={after(() => split('column'))}
                  />
                </>
              )}
              <Arrange
                icon="network"
                words={
                  shown !== null && panesOf(shown).includes(PREVIEW)
                    ? t`Without the preview`
                    : t`Preview beside it`
                }
                onClick={after(preview)}
              />
              <Arrange
                icon="grid"
                words={shown === null ? t`All in a grid` : t`One at a time`}
                keys="Ctrl Shift G"
                onClick={after(grid)}
              />
              <Arrange
                icon="alone"
                words={zoomed ? t`All of the page` : t`Zoom`}
                keys="Ctrl Shift Enter"
                onClick={after(zoom)}
              />
            </div>
          );
        }}
      </Pop>
    </span>
  );
}

interface ArrangeProps {
  readonly icon: IconName;
  readonly words: string;
  readonly keys?: string;
  readonly onClick: () => void;
}

function Arrange({ icon, words, keys, onClick }: ArrangeProps) {
  return (
    <button type="button" className="sandbox-act" onClick={onClick}>
      <Icon name={icon} />
      {words}
      {keys !== undefined && <kbd>{keys}</kbd>}
    </button>
  );
}
