/** The tools at the foot of the canvas, the zoom, and what can be done with what is chosen. */

import { Icon, type IconName } from '../../components/parts/icons';
import { t } from '../../language/t';
import { useStore } from '../../state/store';
import { around } from '../document/geometry';
import type { Box } from '../document/items';
import { Colours } from '../items/Note';
import { can, COMMANDS, type CanvasCommand, type Places } from './commands';
import type { Stage } from './stage';
import { toWindow } from './viewport';

const MAKING = ['note', 'text', 'todo', 'terminal', 'agent', 'link', 'frame'];

interface ToolbarProps {
  readonly places: Places;
}

export function Toolbar({ places }: ToolbarProps) {
  const { stage } = places;
  const tool = useStore(stage.tool);
  return (
    <div className="board-tools" role="toolbar" aria-label={t`Tools`}>
      <Tool
        icon="pointer"
        words={t`Choose and move (V)`}
        on={tool === 'select'}
        onPress={() => stage.tool.set('select')}
      />
      <Tool
        icon="hand"
        words={t`Pan (hold Space)`}
        on={tool === 'hand'}
        onPress={() => stage.tool.set('hand')}
      />
      {stage.edits && <span className="board-line" />}
      {stage.edits && MAKING.map((id) => <CommandTool key={id} id={id} places={places} />)}
      {stage.edits && <UndoTools places={places} />}
    </div>
  );
}

function UndoTools({ places }: ToolbarProps) {
  const { undo, redo } = useStore(places.stage.board.history);
  return (
    <>
      <span className="board-line" />
      <CommandTool id="undo" places={places} off={undo === 0} />
      <CommandTool id="redo" places={places} off={redo === 0} />
      <CommandTool id="tidy" places={places} />
    </>
  );
}

interface CommandToolProps {
  readonly id: string;
  readonly places: Places;
  readonly off?: boolean;
}

export function CommandTool({ id, places, off = false }: CommandToolProps) {
  const command = COMMANDS().find((one) => one.id === id);
  if (command === undefined) return null;
  if (command.members === true && places.stage.guest) return null;
  return (
    <Tool
      icon={command.icon}
      words={wordsOf(command)}
      off={off}
      {...(command.short === undefined ? {} : { label: command.short })}
      onPress={() => command.run(places)}
    />
  );
}

function wordsOf({ words, keys }: CanvasCommand): string {
  const [key] = keys ?? [];
  return key === undefined ? words : `${words} (${key})`;
}

interface ToolProps {
  readonly icon: IconName;
  readonly words: string;
  readonly on?: boolean;
  readonly off?: boolean;
  readonly label?: string;
  readonly onPress: () => void;
}

function Tool({ icon, words, on, off = false, label, onPress }: ToolProps) {
  return (
    <button
      type="button"
      className="board-tool"
      aria-label={words}
      aria-pressed={on}
      title={words}
      disabled={off}
      onClick={onPress}
    >
      <Icon name={icon} />
      {label !== undefined && <span className="board-tool-words">{label}</span>}
    </button>
  );
}

export function ZoomTools({ places }: ToolbarProps) {
  const { stage } = places;
  const { zoom } = useStore(stage.view);
  return (
    <div className="board-zoom" role="toolbar" aria-label={t`Zoom`}>
      <CommandTool id="zoom out" places={places} />
      <button
        type="button"
        className="board-percent"
        title={t`Zoom to 100 % (0)`}
        aria-label={t`Zoom: ${Math.round(zoom * 100)} %. To 100 %`}
        onClick={() => stage.glideToZoom(1)}
      >
        {Math.round(zoom * 100)} %
      </button>
      <CommandTool id="zoom in" places={places} />
      <CommandTool id="fit" places={places} />
      <CommandTool id="help" places={places} />
    </div>
  );
}

const CHOSEN = ['duplicate', 'front', 'back', 'lock', 'comment', 'remove'];
const ABOVE_PX = 14;
const HIGH_PX = 44;
/** The foot of the window, where the tools are. */
const FOOT_PX = 70;

/** What can be done with what is chosen, above it. */
export function ChosenTools({ places }: ToolbarProps) {
  const { stage } = places;
  useStore(stage.view);
  useStore(stage.size);
  useStore(stage.chosen);
  useStore(stage.board.list);
  const drag = useStore(stage.drag);
  const sizing = useStore(stage.sizing);
  const marquee = useStore(stage.marquee);
  const inside = useStore(stage.inside);
  const { picked } = stage;
  const box = around(picked);
  const busy = drag !== null || sizing !== null || marquee !== null;
  if (box === null || busy || inside !== null || !stage.edits) return null;
  const place = placeOf(stage, box);
  const grouped = picked.some(({ group }) => group !== null);
  return (
    <div className="board-chosen" role="toolbar" aria-label={t`What is chosen`} style={place}>
      <Colours stage={stage} items={picked} />
      {picked.length > 1 && <CommandTool id={grouped ? 'ungroup' : 'group'} places={places} />}
      {picked.length > 1 && <CommandTool id="tidy" places={places} />}
      {CHOSEN.map((id) => {
        const command = COMMANDS().find((one) => one.id === id);
        return command !== undefined && can(command, stage) ? (
          <CommandTool key={id} id={id} places={places} />
        ) : null;
      })}
    </div>
  );
}

/** Above what is chosen, else below it, else at the head of the window. */
function placeOf(stage: Stage, box: Box): { readonly left: number; readonly top: number } {
  const view = stage.view.get();
  const { w, h } = stage.size.get();
  const above = toWindow(view, { x: box.x + box.w / 2, y: box.y });
  const below = toWindow(view, { x: box.x, y: box.y + box.h });
  const head = stage.picked.some(({ kind }) => kind === 'frame') ? 24 : 0;
  const high = above.y - ABOVE_PX - head - HIGH_PX;
  const low = below.y + ABOVE_PX;
  const left = Math.min(Math.max(200, above.x), Math.max(200, w - 200));
  if (high >= 8) return { left, top: high };
  return { left, top: low + HIGH_PX < h - FOOT_PX ? Math.max(8, low) : 8 };
}
