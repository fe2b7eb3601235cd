/** Who is on the dashboard: a click on a person follows what they see. */

import { useEffect } from 'react';
import { Avatar } from '../../components/parts/Avatar';
import { t } from '../../language/t';
import { announce } from '../../state/announce';
import { useStore } from '../../state/store';
import type { Stage } from '../view/stage';
import type { Peer } from './presence';

interface PeopleBarProps {
  readonly stage: Stage;
  readonly peers: readonly Peer[];
}

export function PeopleBar({ stage, peers }: PeopleBarProps) {
  const followed = useStore(stage.followed);
  const leader = peers.find(({ client }) => client === followed) ?? null;
  const sees = leader?.sees ?? null;
  useEffect(() => {
    if (sees !== null) stage.see(sees);
  }, [stage, sees]);
  useEffect(() => {
    // Who left leads nobody.
    if (followed !== null && leader === null) stage.followed.set(null);
  }, [stage, followed, leader]);
  if (peers.length === 0) return null;
  return (
    <ul className="board-people" aria-label={t`People here`}>
      {peers.map((peer) => {
        const on = peer.client === followed;
        const words = followWords(on, peer.name, placeOf(stage, peer));
        return (
          <li key={peer.client}>
            <button
              type="button"
              className={on ? 'board-person board-followed' : 'board-person'}
              aria-pressed={on}
              aria-label={words}
              title={words}
              onClick={() => {
                stage.followed.set(on ? null : peer.client);
                announce(on ? t`No longer following ${peer.name}.` : t`Following ${peer.name}.`);
              }}
            >
              <Avatar name={peer.name} principal={peer.id} drives={peer.inside !== null} />
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** The terminal or item that somebody is in. */
function placeOf(stage: Stage, { inside }: Peer): string | null {
  const item = inside === null ? null : stage.board.item(inside);
  return item === null ? null : item.title || item.kind;
}

function followWords(on: boolean, name: string, place: string | null): string {
  if (place === null) return on ? t`Stop following ${name}` : t`Follow ${name}`;
  return on ? t`Stop following ${name}, in ${place}` : t`Follow ${name}, in ${place}`;
}
