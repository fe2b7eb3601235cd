/** What lies over the items: the box of what is chosen, its handles, guides, the drawn box. */

import { useStore } from '../../state/store';
import { around } from '../document/geometry';
import type { Box } from '../document/items';
import type { Guide } from '../document/snap';
import type { Peer } from '../presence/presence';
import type { Stage } from './stage';
import { toWindow, type Viewport } from './viewport';

const HANDLES = ['n', 's', 'w', 'e', 'nw', 'ne', 'sw', 'se'] as const;

interface MarksProps {
  readonly stage: Stage;
  readonly peers: readonly Peer[];
}

export function Marks({ stage, peers }: MarksProps) {
  const view = useStore(stage.view);
  useStore(stage.board.list);
  const marquee = useStore(stage.marquee);
  const guides = useStore(stage.guides);
  return (
    <div className="marks" aria-hidden="true">
      {peers.flatMap((peer) =>
        peer.selection.map((id) => {
          const item = stage.board.item(id);
          return item === null ? null : (
            <div
              key={`${peer.client} ${id}`}
              className="mark-peer"
              data-hue={peer.hue}
              style={boxStyle(view, item)}
            />
          );
        }),
      )}
      <ChosenBox stage={stage} />
      {marquee !== null && <div className="mark-marquee" style={boxStyle(view, marquee)} />}
      {guides.map((guide) => (
        <div
          key={`${guide.axis} ${guide.at}`}
          className={`guide guide-${guide.axis}`}
          style={boxStyle(view, boxOf(guide))}
        />
      ))}
    </div>
  );
}

/** The box around what is chosen; around one item with the handles that size it. */
function ChosenBox({ stage }: { readonly stage: Stage }) {
  const view = useStore(stage.view);
  useStore(stage.chosen);
  useStore(stage.board.list);
  const inside = useStore(stage.inside);
  const drag = useStore(stage.drag);
  const sizing = useStore(stage.sizing);
  const { picked } = stage;
  const many = picked.length > 1;
  const box = sizing?.box ?? around(picked);
  if (box === null || drag !== null || (!many && inside !== null)) return null;
  const sizes = mayBeSized(stage);
  return (
    <div className={many ? 'mark-box mark-many' : 'mark-box'} style={boxStyle(view, box)}>
      {sizes &&
        HANDLES.map((handle) => (
          <span key={handle} data-handle={handle} className={`handle handle-${handle}`} />
        ))}
      {sizing !== null && (
        <span className="mark-size">
          {Math.round(sizing.box.w)} × {Math.round(sizing.box.h)}
        </span>
      )}
    </div>
  );
}

function mayBeSized({ picked, edits }: Stage): boolean {
  return edits && picked.length === 1 && picked[0]?.locked === false;
}

function boxOf({ axis, at, from, to }: Guide): Box {
  return axis === 'x'
    ? { x: at, y: from, w: 0, h: to - from }
    : { x: from, y: at, w: to - from, h: 0 };
}

export function boxStyle(view: Viewport, box: Box) {
  const { x, y } = toWindow(view, box);
  return {
    transform: `translate(${Math.round(x)}px, ${Math.round(y)}px)`,
    width: Math.round(box.w * view.zoom),
    height: Math.round(box.h * view.zoom),
  };
}
