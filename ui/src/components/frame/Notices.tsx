/** Messages that come and go, and the live region for what is only spoken. */

import { useLayoutEffect, useRef } from 'react';
import { dialogs, notices, spoken } from '../../state/announce';
import { useStore } from '../../state/store';
import { railFolded } from '../../terminal/layout/layouts';
import { NoticeLine } from '../parts/NoticeLine';
import { freeRoom } from './room';

export function Notices() {
  const inside = useStore(dialogs).length > 0;
  const all = useStore(notices);
  const words = useStore(spoken);
  const list = all.filter(({ tone }) => !inside || tone !== 'bad');
  const place = useRef<HTMLOListElement>(null);
  const shown = list.map(({ id }) => id).join();
  const folded = useStore(railFolded);
  useLayoutEffect(() => {
    const own = place.current;
    if (own === null || shown === '') return;
    const { left, top } = freeRoom(own, own.offsetWidth, own.offsetHeight);
    own.style.left = `${left}px`;
    own.style.top = `${top}px`;
  }, [shown, folded]);
  return (
    <>
      <p className="spoken" role="status" aria-live="polite">
        {words}
      </p>
      <ol ref={place} className="notices" aria-live="polite">
        {list.map((notice) => (
          <NoticeLine key={notice.id} notice={notice} />
        ))}
      </ol>
    </>
  );
}
