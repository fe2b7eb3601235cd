/** A box that scrolls, with rows of one height, of which only those on the screen are elements. */

import {
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type ComponentProps,
  type CSSProperties,
  type ReactNode,
} from 'react';

interface Window {
  readonly top: number;
  readonly height: number;
}

/** Rows above and below those on the screen. */
const AROUND = 12;

/** Custom properties as a style. */
export function variables(values: Readonly<Record<`--${string}`, string | number>>): CSSProperties {
  return values;
}

interface VirtualRowsProps extends Omit<ComponentProps<'div'>, 'ref' | 'children'> {
  readonly count: number;
  readonly height: number;
  readonly render: (row: number) => ReactNode;
  /** The row that is to be seen. */
  readonly at?: number | null;
  /** Called with the first row and the one after the last that are drawn. */
  readonly onRange?: (from: number, to: number) => void;
}

export function VirtualRows(props: VirtualRowsProps) {
  const { count, height, render, at = null, onRange, ...box } = props;
  const element = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState<Window>({ top: 0, height: 600 });
  const from = Math.min(count, Math.max(0, Math.floor(seen.top / height) - AROUND));
  const to = Math.min(count, Math.ceil((seen.top + seen.height) / height) + AROUND);
  useLayoutEffect(() => {
    const one = element.current;
    if (one === null) return;
    const look = (): void => setSeen({ top: one.scrollTop, height: one.clientHeight });
    look();
    const observer = new ResizeObserver(look);
    observer.observe(one);
    return () => observer.disconnect();
  }, []);
  useEffect(() => onRange?.(from, to), [onRange, from, to]);
  useLayoutEffect(() => {
    const one = element.current;
    if (one === null || at === null) return;
    const place = at * height;
    const end = one.scrollTop + one.clientHeight - height;
    if (place < one.scrollTop) one.scrollTop = place;
    else if (place > end) one.scrollTop = place - one.clientHeight + height;
  }, [at, height]);
  const rows = [];
  for (let row = from; row < to; row += 1) rows.push(render(row));
  return (
    <div
      ref={element}
      {...box}
      onScroll={({ currentTarget: { scrollTop, clientHeight } }) =>
        setSeen({ top: scrollTop, height: clientHeight })
      }
    >
      <div className="virtual" role="presentation" style={{ height: count * height }}>
        <div role="presentation" style={{ transform: `translateY(${from * height}px)` }}>
          {rows}
        </div>
        {at !== null && at < count && (at < from || at >= to) && (
          // The row that the keyboard is at stays an element: the box refers to it.
          <div className="virtual-row" role="presentation" style={{ top: at * height }}>
            {render(at)}
          </div>
        )}
      </div>
    </div>
  );
}
