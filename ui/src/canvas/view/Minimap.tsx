/** The whole plane at a glance, with the window on it: a press goes there. */

import type { PointerEvent } from 'react';
import { useStore } from '../../state/store';
import { around, grown } from '../document/geometry';
import type { Peer } from '../presence/presence';
import type { Stage } from './stage';
import { centred, shown } from './viewport';

const SIZE = { w: 168, h: 112 } as const;

interface MinimapProps {
  readonly stage: Stage;
  readonly peers: readonly Peer[];
}

export function Minimap({ stage, peers }: MinimapProps) {
  const items = useStore(stage.board.list);
  const view = useStore(stage.view);
  const size = useStore(stage.size);
  const window = shown(view, size);
  const all = around(items);
  if (all === null) return null;
  const world = grown(around([all, window]) ?? all, Math.max(all.w, all.h) * 0.05);
  const scale = Math.min(SIZE.w / world.w, SIZE.h / world.h);
  const [left, top] = [(SIZE.w - world.w * scale) / 2, (SIZE.h - world.h * scale) / 2];
  const rect = ({ x, y, w, h }: typeof window) => ({
    x: left + (x - world.x) * scale,
    y: top + (y - world.y) * scale,
    width: Math.max(1, w * scale),
    height: Math.max(1, h * scale),
  });

  function visit(event: PointerEvent<SVGSVGElement>): void {
    if (event.type === 'pointermove' && event.buttons !== 1) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const box = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - box.left - left) / scale + world.x;
    const y = (event.clientY - box.top - top) / scale + world.y;
    stage.look(centred({ x, y, w: 0, h: 0 }, size, view.zoom));
  }

  return (
    <svg
      className="minimap"
      viewBox={`0 0 ${SIZE.w} ${SIZE.h}`}
      aria-hidden="true"
      onPointerDown={visit}
      onPointerMove={visit}
    >
      {items.map((item) => (
        <rect
          key={item.id}
          className={`mini mini-${item.kind === 'note' ? item.colour : item.kind}`}
          rx="1"
          {...rect(item)}
        />
      ))}
      {peers.map(({ client, hue, sees }) =>
        sees === null ? null : (
          <rect key={client} className="mini-peer" data-hue={hue} {...rect(sees)} />
        ),
      )}
      <rect className="mini-window" rx="2" {...rect(window)} />
    </svg>
  );
}
