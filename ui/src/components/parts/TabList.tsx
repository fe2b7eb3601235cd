/**
 * The row of tabs of a sandbox, by the ARIA practices for tabs with manual activation.
 *
 * The tab list owns its tabs by `aria-owns`: their close buttons lie beside them and may not be
 * inside of a tab list, whose children are tabs alone.
 */

import { useEffect, useRef, type KeyboardEvent, type ReactNode } from 'react';
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
    role: 'tab',
    id: `tab-${key}`,
    className: 'tab-face',
    'aria-selected': selected,
    'aria-controls': selected ? `panel-${key}` : undefined,
    tabIndex: selected ? 0 : -1,
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
    <div ref={row} className="tab-list" onKeyDown={rove}>
      <div
        role="tablist"
        aria-label={t`Terminals`}
        aria-owns={keys.map((key) => `tab-${key}`).join(' ')}
      />
      {children}
    </div>
  );
}

/** Scrolls the row alone, never what lies around it, until the tab is in view. */
function bringIn(row: HTMLElement, tab: HTMLElement): void {
  const [around, here] = [row.getBoundingClientRect(), tab.getBoundingClientRect()];
  if (here.left < around.left) row.scrollLeft -= around.left - here.left;
  else if (here.right > around.right) row.scrollLeft += here.right - around.right;
}

/** Move between tabs by the arrow keys, round the ends; Home and End go to the ends. */
function rove(event: KeyboardEvent<HTMLDivElement>): void {
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')];
  const at = all.findIndex((tab) => tab === document.activeElement);
  if (at < 0) return;
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  all.at(to % all.length)?.focus();
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
      <button type="button" {...tabOf(id, selected)} title={children} onClick={onChoose}>
        <Icon name={icon} />
        <span className="tab-plain">{children}</span>
      </button>
    </div>
  );
}
