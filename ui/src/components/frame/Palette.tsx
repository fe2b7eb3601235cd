/** Everything the page can do, by name: opened with Ctrl or Cmd and K. */

import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { Icon, type IconName } from '../parts/icons';

export interface Command {
  readonly id: string;
  readonly words: string;
  /** A few words on the right: where it leads, its key. */
  readonly note?: string;
  readonly icon: IconName;
  readonly run: () => void;
}

interface PaletteProps {
  readonly commands: readonly Command[];
  readonly onClose: () => void;
}

export function Palette({ commands, onClose }: PaletteProps) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  const found = useMemo(() => findAll(commands, text), [commands, text]);
  const active = Math.min(at, Math.max(0, found.length - 1));

  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement && document.contains(before)) before.focus();
    };
  }, []);
  useEffect(() => {
    document.getElementById(`${listId}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [listId, active]);

  function run(command: Command | undefined): void {
    if (command === undefined) return;
    onClose();
    // After the palette has given the focus back, so that the command may move it.
    window.setTimeout(command.run);
  }

  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((active + step + found.length) % Math.max(1, found.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(found[active]);
    }
  }

  return (
    <dialog
      ref={dialog}
      className="dialog palette"
      aria-label="Commands"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div className="palette-head">
        <Icon name="search" />
        <input
          autoFocus
          role="combobox"
          aria-label="Find a command or sandbox"
          aria-expanded={found.length > 0}
          aria-controls={listId}
          aria-activedescendant={found.length > 0 ? `${listId}-${active}` : undefined}
          placeholder="Find a command or sandbox"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
      </div>
      <ul
        id={listId}
        role="listbox"
        aria-label="Commands"
        className="palette-list"
        hidden={found.length === 0}
      >
        {found.map((command, i) => (
          <li
            key={command.id}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === active}
            className="palette-row"
            onMouseMove={() => setAt(i)}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span className="palette-words">{command.words}</span>
            {command.note !== undefined && <span className="palette-note">{command.note}</span>}
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p className="palette-none" role="status">
          Nothing by that name.
        </p>
      )}
    </dialog>
  );
}

/** The commands that match; those whose words begin so come first. */
function findAll(commands: readonly Command[], text: string): readonly Command[] {
  const begins = ({ words }: Command): number =>
    Number(words.toLowerCase().startsWith(text.trim().toLowerCase()));
  return commands.filter(matches(text)).sort((a, b) => begins(b) - begins(a));
}

/** Every word must occur, in any order. */
function matches(text: string): (command: Command) => boolean {
  const wanted = text.toLowerCase().split(/\s+/);
  return ({ words, note }) => {
    const all = `${words} ${note ?? ''}`.toLowerCase();
    return wanted.every((word) => all.includes(word));
  };
}
