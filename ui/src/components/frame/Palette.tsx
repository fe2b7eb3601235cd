/**
 * Everything the page can do, by name, and what the server finds: opened with Ctrl or Cmd and K.
 *
 * Keys that are typed right after those must not be lost, so it is in the page's first load. Base
 * UI's combobox would cost that 12 kB; this one has one list, which is always open.
 */

import { useEffect, useId, useMemo, useState, type KeyboardEvent } from 'react';
import { t } from '../../language/t';
import { commandsOfHits } from './hits';
import { useSearch, type Searched } from '../../state/overview/useSearch';
import { Modal } from '../parts/Dialog';
import { Icon } from '../parts/icons';
import type { Command } from './command';

interface PaletteProps {
  readonly commands: readonly Command[];
  /** Begins a sandbox with a profile that was found. */
  readonly onProfile: (profile: string) => void;
  readonly onClose: () => void;
}

export function Palette({ commands, onProfile, onClose }: PaletteProps) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const listId = useId();
  const searched = useSearch(text);
  const found = useMemo(() => {
    const offered = new Set(commands.map(({ id }) => id));
    return [...findAll(commands, text), ...commandsOfHits(searched.hits, offered, onProfile)];
  }, [commands, text, searched.hits, onProfile]);
  const active = Math.min(at, Math.max(0, found.length - 1));

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
    <Modal className="dialog palette" label={t`Commands`} onClose={onClose}>
      <div className="palette-head">
        <Icon name="search" />
        <input
          data-first-focus
          role="combobox"
          aria-label={t`Find a command or sandbox, or anything else`}
          aria-expanded={found.length > 0}
          aria-controls={listId}
          aria-activedescendant={found.length > 0 ? `${listId}-${active}` : undefined}
          placeholder={t`Find commands, sandboxes, tasks, branches, people…`}
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
        aria-label={t`Commands`}
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
      <p className={found.length === 0 ? 'palette-none' : 'palette-foot'} role="status">
        {footWords(searched, found.length)}
      </p>
    </Modal>
  );
}

/** What is said below the list. */
function footWords({ is }: Searched, count: number): string {
  if (is === 'searching') return t`Searching…`;
  if (is === 'failed') return t`The server was not searched: it did not answer.`;
  if (count === 0) return is === 'found' ? t`Nothing by that name.` : t`No command by that name.`;
  return t`↑ ↓ choose · Enter opens · Esc closes`;
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
