/**
 * The inbox as a page of its own, answered by keyboard alone.
 *
 * A key answers the item that is chosen, and only once that was in view for a moment: what comes
 * in the place of an answered item is not answered by a key meant for the one before.
 */

import { useEffect, useRef, useState } from 'react';
import { t } from '../../language/t';
import { actOnNotice } from '../../state/announce';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { hold, seen, step } from './choice';
import { dialogIsOpen } from '../parts/Dialog';
import { Page } from '../parts/Page';
import { Empty } from '../parts/States';
import { Item } from './InboxItems';
import { useInbox } from './Inbox';

export function InboxPage({ onMenu }: { readonly onMenu: () => void }) {
  const items = useInbox();
  const works = mayWork(useStore(team));
  const ids = items.map(({ id }) => id);
  const [before, setChosen] = useState<string | null>(null);
  const chosen = hold(before, ids);
  const list = useRef<HTMLUListElement>(null);
  const since = useRef(0);
  const latest = useRef({ ids, chosen });

  useEffect(() => {
    latest.current = { ids, chosen };
  });
  useEffect(() => {
    since.current = performance.now();
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { ids: now, chosen: one } = latest.current;
      if (!isOurs(event)) return;
      if (event.key === 'u' && actOnNotice()) event.preventDefault();
      if (one === null) return;
      const move = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
      if (move !== undefined) setChosen(step(one, now, move));
      else if (!answers(event.key, list.current, since.current)) return;
      // Before the page's own shortcuts: N makes a sandbox elsewhere.
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    window.addEventListener('keydown', onKey, true);
    return () => window.removeEventListener('keydown', onKey, true);
  }, []);

  return (
    <Page
      title={t`Inbox`}
      onMenu={onMenu}
      note={items.length > 0 && <span className="count">{items.length}</span>}
    >
      {items.length === 0 ? (
        <Empty icon="inbox">
          {works
            ? t`Nothing waits for you.`
            : t`Nothing waits for you. Viewers watch: what agents ask, members answer.`}
        </Empty>
      ) : (
        <>
          <ul className="asks inbox" aria-label={t`Waiting for you`} ref={list}>
            {items.map((item) => (
              <li
                key={item.id}
                className="asking"
                aria-current={item.id === chosen ? 'true' : undefined}
                onFocus={() => setChosen(item.id)}
              >
                <Item item={item} />
              </li>
            ))}
          </ul>
          <p className="quiet home-keys">
            {t`${(<kbd>J</kbd>)} ${(<kbd>K</kbd>)} choose · ${(<kbd>Y</kbd>)} allows · ${(<kbd>N</kbd>)} denies or dismisses · ${(<kbd>U</kbd>)} undoes · ${(<kbd>Enter</kbd>)} opens its terminal or dashboard`}
          </p>
        </>
      )}
    </Page>
  );
}

/** Presses the answer of a key; false when the chosen item has none for it. */
function answers(key: string, list: HTMLElement | null, since: number): boolean {
  const item = list?.querySelector('[aria-current]');
  const answer = item?.querySelector<HTMLButtonElement>(`[data-key="${CSS.escape(key)}"]`);
  if (answer === null || answer === undefined) return key === 'y' || key === 'n';
  if (seen(since, performance.now())) answer.click();
  return true;
}

function isOurs(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return false;
  if (dialogIsOpen()) return false;
  const { target } = event;
  if (!(target instanceof Element)) return true;
  const typing = target.closest('input, textarea, select, .pane-screen') !== null;
  // A button or link that has the focus keeps its Enter.
  return !typing && !(event.key === 'Enter' && target.closest('button, a') !== null);
}
