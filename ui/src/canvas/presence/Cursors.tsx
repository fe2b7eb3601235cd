/** Where others point, with their names. */

import { useStore } from '../../state/store';
import type { Stage } from '../view/stage';
import { toWindow } from '../view/viewport';
import type { Peer } from './presence';

interface CursorsProps {
  readonly stage: Stage;
  readonly peers: readonly Peer[];
}

export function Cursors({ stage, peers }: CursorsProps) {
  const view = useStore(stage.view);
  const within = useStore(stage.inside);
  return (
    <div className="cursors" aria-hidden="true">
      {peers.map(({ client, cursor, name, hue, inside }) => {
        // Who is in the same terminal is shown there, at the very letter.
        if (cursor === null || (inside !== null && inside === within)) return null;
        const { x, y } = toWindow(view, cursor);
        return (
          <span
            key={client}
            className="cursor"
            data-hue={hue}
            style={{ transform: `translate(${Math.round(x)}px, ${Math.round(y)}px)` }}
          >
            <svg viewBox="0 0 16 16">
              <path d="M2 1.5 13.5 7 8.2 8.6 5.6 13.8Z" />
            </svg>
            <span className="cursor-name">{name}</span>
          </span>
        );
      })}
    </div>
  );
}
