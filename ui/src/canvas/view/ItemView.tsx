/** One item on the plane: its box, its head where it has one, and what its kind shows. */

import { memo, useEffect, useRef, useState, type CSSProperties } from 'react';
import { Avatar } from '../../components/parts/Avatar';
import { Icon, type IconName } from '../../components/parts/icons';
import { t } from '../../language/t';
import { rename } from '../document/acts';
import { isPane, KIND_WORDS, MAX_TITLE, nameOf, type Item } from '../document/items';
import { Link } from '../items/Link';
import { Note } from '../items/Note';
import { PaneOf } from '../items/panes';
import { TerminalItem } from '../items/TerminalItem';
import { Todo } from '../items/Todo';
import type { Peer } from '../presence/presence';
import type { Person } from '../sync/wire';
import type { Way } from './hanging';
import type { Stage } from './stage';

export interface ItemViewProps {
  readonly stage: Stage;
  readonly item: Item;
  readonly chosen: boolean;
  readonly inside: boolean;
  /** Whether Tab reaches it from outside the canvas. */
  readonly reached: boolean;
  readonly people: readonly Person[];
  /** Others whose keyboard is in it. */
  readonly visitors: readonly Peer[];
  /** How many comments on it are open. */
  readonly comments: number;
  readonly onGive: ((item: Item) => void) | null;
  readonly onWay: (item: Item, way: Way) => void;
  readonly onRenew: ((item: Item) => void) | null;
}

export const ItemView = memo(function ItemView(props: ItemViewProps) {
  const { item, chosen, inside, reached, visitors, comments } = props;
  const { id, kind } = item;
  const [slot, setSlot] = useState<HTMLElement | null>(null);
  const terminal = kind === 'terminal' || kind === 'agent';
  const body = usePaneFocus(isPane(kind) && !terminal && inside);
  return (
    <div
      className={classOf(item, chosen, inside)}
      style={styleOf(item)}
      data-item={id}
      data-kind={kind}
      role="group"
      aria-roledescription={KIND_WORDS()[kind] ?? kind}
      aria-label={labelOf(item, chosen)}
      tabIndex={reached ? 0 : -1}
    >
      <Head {...props} />
      {terminal && <div ref={setSlot} className="item-slot bar-slot" hidden={!inside} />}
      <div ref={body} className={bodyClassOf(kind)}>
        {terminal ? <TerminalItem {...props} slot={slot} /> : <Body {...props} />}
      </div>
      {visitors.length > 0 && (
        <span className="item-visitors">
          {visitors.map((peer) => (
            <span key={peer.client} className="item-visitor" data-hue={peer.hue}>
              {peer.name}
            </span>
          ))}
        </span>
      )}
      {comments > 0 && (
        <span className="item-comments" title={t`${comments} open comments`}>
          {comments}
        </span>
      )}
    </div>
  );
});

const FOCUSABLE = '[tabindex="0"], button:enabled, input:enabled, select, textarea, a[href]';

/** Brings the keyboard into the pane that was entered; a press of the pointer has put it already. */
function usePaneFocus(inside: boolean) {
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = body.current;
    if (!inside || element === null || element.contains(document.activeElement)) return;
    const first = element.querySelector<HTMLElement>('.review, ' + FOCUSABLE);
    (first ?? element.parentElement)?.focus({ preventScroll: true });
  }, [inside]);
  return body;
}

function bodyClassOf(kind: string): string {
  if (!isPane(kind)) return 'item-body';
  // A terminal takes the zoom as the size of its letters.
  const terminal = kind === 'terminal' || kind === 'agent';
  return terminal ? 'item-body item-pane' : 'item-body item-pane item-zoomed';
}

function classOf(item: Item, chosen: boolean, inside: boolean): string {
  return [
    'item',
    `item-${isPane(item.kind) ? 'card' : item.kind}`,
    item.kind === 'frame' && `frame-${item.colour}`,
    chosen && 'item-chosen',
    inside && 'item-inside',
    item.locked && 'item-locked',
  ]
    .filter(Boolean)
    .join(' ');
}

/** Numbers that the style sheet makes a box of, with the zoom of the plane. */
export function styleOf({ x, y, w, h, z }: Item): CSSProperties {
  return { '--x': x, '--y': y, '--w': w, '--h': h, zIndex: z } as CSSProperties;
}

function labelOf(item: Item, chosen: boolean): string {
  const parts = [nameOf(item), item.locked && 'locked', item.done && 'done', chosen && 'chosen'];
  return parts.filter((part) => part !== false).join(', ');
}

const ICONS: Readonly<Record<string, IconName>> = {
  terminal: 'terminal',
  agent: 'agent',
  files: 'file',
  viewer: 'file',
  diff: 'branch',
  preview: 'network',
  events: 'log',
  approvals: 'shield',
  image: 'file',
};

function Head({ stage, item, inside, visitors }: ItemViewProps) {
  const { kind } = item;
  if (kind === 'frame') return <Title stage={stage} item={item} className="frame-title" />;
  if (!isPane(kind)) return null;
  return (
    <div className="item-head">
      <Icon name={ICONS[kind] ?? 'board'} />
      <Title stage={stage} item={item} className="item-title" />
      {item.locked && <Icon name="lock" />}
      <span className="spring" />
      {inside && (
        <span className="item-hint">
          {t`${(<kbd>{kind === 'terminal' || kind === 'agent' ? t`Ctrl Shift .` : 'Esc'}</kbd>)} leaves`}
        </span>
      )}
      {visitors.map((peer) => (
        <Avatar key={peer.client} name={peer.name} principal={peer.id} />
      ))}
    </div>
  );
}

interface TitleProps {
  readonly stage: Stage;
  readonly item: Item;
  readonly className: string;
}

/** The name of an item; a double click or Enter on a frame edits it. */
function Title({ stage, item, className }: TitleProps) {
  const [editing, setEditing] = useState(false);
  if (!editing || !stage.edits || item.locked)
    return (
      <span
        className={className}
        title={nameOf(item)}
        onDoubleClick={(event) => {
          event.stopPropagation();
          setEditing(true);
        }}
      >
        {nameOf(item)}
      </span>
    );
  const keep = (title: string): void => {
    if (title !== item.title) rename(stage.board, item.id, title);
    setEditing(false);
  };
  return (
    <input
      autoFocus
      className={`${className} item-rename`}
      aria-label={t`Name`}
      maxLength={MAX_TITLE}
      defaultValue={item.title}
      onBlur={({ target }) => keep(target.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Enter') keep(event.currentTarget.value);
        if (event.key === 'Escape') setEditing(false);
      }}
    />
  );
}

function Body(props: ItemViewProps) {
  const { stage, item, inside, people, onGive, onWay } = props;
  switch (item.kind) {
    case 'note':
    case 'text':
      return <Note {...{ stage, item, inside }} />;
    case 'todo':
      return <Todo {...{ stage, item, inside, people, onGive, onWay }} />;
    case 'link':
      return <Link {...{ stage, item, inside }} />;
    case 'frame':
      return null;
    default:
      return <PaneOf item={item} />;
  }
}
