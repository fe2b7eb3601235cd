/** Lines with an arrow from one item to another, below the items. */

import { useStore } from '../../state/store';
import { moved } from '../document/geometry';
import { lineBetween } from '../document/connect';
import type { Box, Item } from '../document/items';
import type { Stage } from '../view/stage';

export function Connectors({ stage }: { readonly stage: Stage }) {
  const items = useStore(stage.board.list);
  const drag = useStore(stage.drag);
  const known = new Map(items.map((item) => [item.id, item]));
  const boxNow = (item: Item): Box =>
    drag?.ids.includes(item.id) === true ? moved(item, drag.dx, drag.dy) : item;
  const lines = items.flatMap((item) =>
    item.to.flatMap((id) => {
      const other = known.get(id);
      return other === undefined ? [] : [{ from: item, to: other }];
    }),
  );
  if (lines.length === 0) return null;
  return (
    <svg className="connectors" aria-hidden="true">
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="6"
          markerHeight="6"
          orient="auto"
        >
          <path d="M1 1 7 4 1 7" />
        </marker>
      </defs>
      {lines.map(({ from, to }) => (
        <path
          key={`${from.id} ${to.id}`}
          className="connector"
          d={lineBetween(boxNow(from), boxNow(to))}
          markerEnd="url(#arrow)"
        />
      ))}
    </svg>
  );
}
