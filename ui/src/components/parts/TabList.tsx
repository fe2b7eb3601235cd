/**
 * The row of tabs of a sandbox, by the ARIA practices for tabs with manual activation.
 *
 * The tab list owns its tabs by `aria-owns`: their close buttons lie beside them and may not be
 * inside of a tab list, whose children are tabs alone. What tabs show is not Base UI's panel:
 * several panes may be shown at a time.
 */

import { Tabs } from '@base-ui/react/tabs';
import { useEffect, useRef, type ReactNode } from 'react';
import { t } from '../../language/t';
import { Icon, type IconName } from './icons';

interface TabListProps {
  /** Keys of the tabs, in their order. */
  readonly keys: readonly string[];
  readonly chosen: string;
  readonly children: ReactNode;
}

/** Attributes of the tab of `key`. */
export function tabOf(key: string, selected: boolean) {
  return {
    value: key,
    id: `tab-${key}`,
    className: 'tab-face',
    'aria-controls': selected ? `panel-${key}` : undefined,
  };
}

/** Attributes of what the tab of `key` shows. */
export function panelOf(key: string) {
  return { role: 'tabpanel', id: `panel-${key}`, 'aria-labelledby': `tab-${key}` };
}

export function TabList({ keys, chosen, children }: TabListProps) {
  const row = useRef<HTMLDivElement>(null);
  const before = useRef<readonly string[]>(keys);

  useEffect(() => {
    const tab = document.getElementById(`tab-${chosen}`);
    if (row.current !== null && tab !== null) bringIn(row.current, tab);
    const closed = before.current.some((key) => !keys.includes(key));
    before.current = keys;
    // The keyboard stays in the row when the tab it was at is gone.
    if (closed && document.activeElement === document.body) tab?.focus();
  }, [keys, chosen]);

  return (
    <Tabs.Root
      value={chosen}
      render={<Tabs.List ref={row} className="tab-list" role="presentation" />}
    >
      <div
        role="tablist"
        aria-label={t`Terminals`}
        aria-owns={keys.map((key) => `tab-${key}`).join(' ')}
      />
      {children}
    </Tabs.Root>
  );
}

/** Scrolls the row alone, never what lies around it, until the tab is in view. */
function bringIn(row: HTMLElement, tab: HTMLElement): void {
  const [around, here] = [row.getBoundingClientRect(), tab.getBoundingClientRect()];
  if (here.left < around.left) row.scrollLeft -= around.left - here.left;
  else if (here.right > around.right) row.scrollLeft += here.right - around.right;
}

/** A number in at most four characters: 1234 is 1.2k. */
function shortNumber(count: number): string {
  if (count < 1_000) return String(count);
  return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`;
}

interface PlainTabProps {
  readonly id: string;
  readonly icon?: IconName;
  /** Lines added and removed: null where there are none, whose place is kept. */
  readonly counts?: { readonly plus: number; readonly minus: number } | null | undefined;
  readonly selected: boolean;
  readonly onChoose: () => void;
  readonly children: string;
}

/** A tab that cannot be closed. */
export function PlainTab(props: PlainTabProps) {
  const { id, icon, counts, selected, onChoose, children } = props;
  return (
    <div className={selected ? 'tab tab-on' : 'tab'} role="presentation">
      <Tabs.Tab {...tabOf(id, selected)} title={children} onClick={onChoose}>
        {icon !== undefined && <Icon name={icon} />}
        <span className="tab-plain">{children}</span>
        {counts !== undefined && (
          <span className="tab-counts">
            {counts !== null && (
              <>
                <span className="added">+{shortNumber(counts.plus)}</span>{' '}
                <span className="removed">−{shortNumber(counts.minus)}</span>
              </>
            )}
          </span>
        )}
      </Tabs.Tab>
    </div>
  );
}
