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

interface PlainTabProps {
  readonly id: string;
  readonly icon: IconName;
  readonly selected: boolean;
  readonly onChoose: () => void;
  readonly children: string;
}

/** A tab that cannot be closed. */
export function PlainTab({ id, icon, selected, onChoose, children }: PlainTabProps) {
  return (
    <div className={selected ? 'tab tab-on' : 'tab'} role="presentation">
      <Tabs.Tab {...tabOf(id, selected)} title={children} onClick={onChoose}>
        <Icon name={icon} />
        <span className="tab-plain">{children}</span>
      </Tabs.Tab>
    </div>
  );
}
