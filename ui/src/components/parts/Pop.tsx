/** A small panel under a word: opens on click or Enter, closes on Escape or a click away. */

import { Popover } from '@base-ui/react/popover';
import { useId, useState, type ReactNode } from 'react';

interface PopProps {
  readonly summary: ReactNode;
  readonly tone?: '' | 'fact-warn' | 'fact-bad';
  /** Whether the word is a button among buttons. */
  readonly button?: boolean;
  /** Its name, where the word may be hidden. */
  readonly label?: string;
  /** Whether it opens above its word, as wide as that. */
  readonly above?: boolean;
  /** The looks of its word, in place of a fact's or a button's. */
  readonly className?: string;
  /** Called with a way to close the panel. */
  readonly children: (close: () => void) => ReactNode;
}

export function Pop(props: PopProps) {
  const { summary, tone = '', above = false, button = false, label, className, children } = props;
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        id={id}
        className={className ?? (button ? 'button button-small' : `pop-face fact ${tone}`)}
        aria-label={label}
        title={label}
      >
        {summary}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner
          className={above ? 'pop-at pop-above' : 'pop-at'}
          side={above ? 'top' : 'bottom'}
          align="start"
          sideOffset={above ? 6 : 8}
          alignOffset={above ? 0 : -10}
          collisionPadding={12}
        >
          <Popover.Popup className="pop-body" aria-labelledby={id}>
            {children(() => setOpen(false))}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
