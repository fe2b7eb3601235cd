/** The dashboards that changed last, with who is on them; where there are none, the way to one. */

import { useEffect, useState } from 'react';
import { overviewApi, type BoardCard } from '../../api/overview';
import { plural, t } from '../../language/t';
import { changedWords, tick } from '../../state/clock';
import { hereWords, recentBoards } from '../../state/overview/boards';
import { goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Avatar } from '../parts/Avatar';
import { Icon } from '../parts/icons';
import { later } from '../parts/later';

const NewDialog = later(async () => (await import('../../canvas/list/dialogs')).NewDialog);
const SHOWN = 6;
const FACES = 4;

export function HomeBoards() {
  const [list, setList] = useState<readonly BoardCard[] | null>(null);
  const [making, setMaking] = useState(false);
  const now = useStore(tick);
  const works = mayWork(useStore(team));
  // With the slow tick: nobody waits for it.
  useEffect(() => {
    let gone = false;
    overviewApi.dashboards().then(
      (found) => {
        if (!gone) setList(found);
      },
      () => undefined,
    );
    return () => {
      gone = true;
    };
  }, [now]);
  if (list === null || (list.length === 0 && !works)) return null;
  return (
    <section>
      <h2>{t`Dashboards`}</h2>
      {list.length === 0 ? (
        <p className="quiet home-none">
          {t`A canvas for people and agents: terminals, notes and todos side by side.`}{' '}
          <button type="button" className="button button-small" onClick={() => setMaking(true)}>
            <Icon name="plus" />
            {t`Make a dashboard`}
          </button>
        </p>
      ) : (
        <ul className="cards" aria-label={t`Dashboards`}>
          {recentBoards(list, SHOWN).map((board) => (
            <Card key={board.id} board={board} now={now} />
          ))}
        </ul>
      )}
      {list.length > SHOWN && (
        <button type="button" className="button-link" onClick={() => goTo('dashboards')}>
          {t`All ${list.length} dashboards`}
        </button>
      )}
      {making && <NewDialog onClose={() => setMaking(false)} />}
    </section>
  );
}

function Card({ board, now }: { readonly board: BoardCard; readonly now: number }) {
  const { id, name, items, scope, updated_at: updated, present } = board;
  return (
    <li className="card">
      <button type="button" className="card-face" onClick={() => goTo('dashboards', id)}>
        <span className="card-title">
          <Icon name="board" />
          <span className="card-name" title={name}>
            {name}
          </span>
        </span>
        <span className="card-note">
          {plural(items, { one: '# item', other: '# items' })} ·{' '}
          {scope === 'shared' ? t`team` : t`private`} · {changedWords(updated, now)}
        </span>
        {present.length > 0 && (
          <span className="card-note home-present">
            {present.slice(0, FACES).map((one) => (
              <Avatar key={one.id} name={one.name} principal={one.id} />
            ))}
            <span>{hereWords(present.map((one) => one.name))}</span>
          </span>
        )}
      </button>
    </li>
  );
}
