/** A small panel under a word: opens on click or Enter, closes on Escape or a click away. */

import { useEffect, useRef, useState, type ReactNode } from 'react';

interface PopProps {
  readonly summary: ReactNode;
  readonly tone?: '' | 'fact-warn' | 'fact-bad';
  /** Called with a way to close the panel. */
  readonly children: (close: () => void) => ReactNode;
}

export function Pop({ summary, tone = '', children }: PopProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!open) return;
    const onPointer = (event: PointerEvent): void => {
      if (event.target instanceof Node && root.current?.contains(event.target) !== true) {
        setOpen(false);
      }
    };
    document.addEventListener('pointerdown', onPointer);
    return () => document.removeEventListener('pointerdown', onPointer);
  }, [open]);

  return (
    <div
      ref={root}
      className="pop"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !open) return;
        event.stopPropagation();
        setOpen(false);
        root.current?.querySelector('button')?.focus();
      }}
    >
      <button
        type="button"
        className={`pop-face fact ${tone}`}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {summary}
      </button>
      {open && <div className="pop-body">{children(() => setOpen(false))}</div>}
    </div>
  );
}
