/** All dashboards of this person: open one, make one, and what can be done with each. */

import { useCallback, useEffect, useState } from 'react';
import { Page } from '../../components/parts/Page';
import { Empty, Loading } from '../../components/parts/States';
import { Icon } from '../../components/parts/icons';
import { plural, t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { changedWords, tick } from '../../state/clock';
import { goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { dashboardsApi, type Dashboard } from './api';
import { NameDialog, NewDialog } from './dialogs';

/** What lies over the list. */
type Over =
  { readonly is: 'new' } | { readonly is: 'rename' | 'copy'; readonly dashboard: Dashboard };

export function Dashboards({ onMenu }: { readonly onMenu: () => void }) {
  const [list, setList] = useState<readonly Dashboard[] | null>(null);
  const [over, setOver] = useState<Over | null>(null);
  const works = mayWork(useStore(team));

  const load = useCallback(() => {
    dashboardsApi.list().then(setList, (reason: unknown) => {
      setList((now) => now ?? []);
      notifyFailure(t`The dashboards could not be loaded`)(reason);
    });
  }, []);
  useEffect(load, [load]);

  function remove(dashboard: Dashboard): void {
    dashboardsApi.remove(dashboard.id).then(
      () => {
        setList((now) => now?.filter(({ id }) => id !== dashboard.id) ?? null);
        const restore = (): void =>
          void dashboardsApi
            .restore(dashboard.id)
            .then(load, notifyFailure(t`It could not be brought back`));
        notify(t`Deleted “${dashboard.name}”. It is kept for 7 days.`, 'plain', {
          words: t`Undo`,
          run: restore,
        });
      },
      notifyFailure(t`It could not be deleted`),
    );
  }

  const onNew = (): void => setOver({ is: 'new' });
  return (
    <Page
      title={t`Dashboards`}
      onMenu={onMenu}
      acts={
        works && (
          <button type="button" className="button button-primary" onClick={onNew}>
            <Icon name="plus" />
            {t`New dashboard`}
          </button>
        )
      }
    >
      {list === null && <Loading what={t`dashboards`} />}
      {list?.length === 0 && (
        <Empty icon="board">
          {t`A dashboard is a canvas for people and agents: terminals, notes and todos side by side.`}
        </Empty>
      )}
      <ul className="list">
        {list?.map((dashboard) => (
          <Row
            key={dashboard.id}
            dashboard={dashboard}
            onRename={() => setOver({ is: 'rename', dashboard })}
            onCopy={works ? () => setOver({ is: 'copy', dashboard }) : null}
            onRemove={() => remove(dashboard)}
          />
        ))}
      </ul>
      {over !== null && <ListOver over={over} onDone={load} onClose={() => setOver(null)} />}
    </Page>
  );
}

interface ListOverProps {
  readonly over: Over;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function ListOver({ over, onDone, onClose }: ListOverProps) {
  if (over.is === 'new') return <NewDialog onClose={onClose} />;
  return <NameDialog act={over.is} dashboard={over.dashboard} {...{ onDone, onClose }} />;
}

interface RowProps {
  readonly dashboard: Dashboard;
  readonly onRename: () => void;
  readonly onCopy: (() => void) | null;
  readonly onRemove: () => void;
}

function Row({ dashboard, onRename, onCopy, onRemove }: RowProps) {
  const now = useStore(tick);
  const { id, name, role, scope, items, updated_at: updated } = dashboard;
  return (
    <li className="list-row">
      <a
        className="list-face"
        href={`#/dashboards/${encodeURIComponent(id)}`}
        onClick={(event) => {
          event.preventDefault();
          goTo('dashboards', id);
        }}
      >
        <span className="list-name">{name}</span>
        <span className="list-facts">
          {plural(items, { one: '# item', other: '# items' })} ·{' '}
          {scope === 'shared' ? t`team` : t`private`}
          {role === 'viewer' && ` · ${t`view only`}`} · {changedWords(updated, now)}
        </span>
      </a>
      {role !== 'viewer' && (
        <button
          type="button"
          className="button-icon"
          aria-label={t`Rename ${name}`}
          title={t`Rename`}
          onClick={onRename}
        >
          <Icon name="text" />
        </button>
      )}
      {onCopy !== null && (
        <button
          type="button"
          className="button-icon"
          aria-label={t`Copy ${name}`}
          title={t`Copy`}
          onClick={onCopy}
        >
          <Icon name="copy" />
        </button>
      )}
      {role === 'owner' && (
        <button
          type="button"
          className="button-icon"
          aria-label={t`Delete ${name}`}
          title={t`Delete`}
          onClick={onRemove}
        >
          <Icon name="destroy" />
        </button>
      )}
    </li>
  );
}
