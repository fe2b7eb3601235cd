/** Search in one terminal's screen and scrollback. */

import { useState } from 'react';
import { t } from '../../language/t';
import { Icon } from '../parts/icons';

interface SearchBarProps {
  readonly matches: { readonly index: number; readonly count: number };
  readonly onFind: (text: string, direction: 'next' | 'previous', growing: boolean) => void;
  readonly onClose: () => void;
}

export function SearchBar({ matches, onFind, onClose }: SearchBarProps) {
  const [text, setText] = useState('');
  return (
    <form
      className="search"
      role="search"
      aria-label={t`This terminal`}
      onSubmit={(event) => {
        event.preventDefault();
        onFind(text, 'next', false);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
        else if (event.key === 'Enter' && event.shiftKey) {
          event.preventDefault();
          onFind(text, 'previous', false);
        }
      }}
    >
      <Icon name="search" />
      <input
        autoFocus
        type="text"
        aria-label={t`Search in this terminal`}
        placeholder={t`Search`}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          onFind(event.target.value, 'next', true);
        }}
      />
      <span className="search-count" role="status">
        {text !== '' &&
          (matches.count === 0 ? t`none` : t`${matches.index + 1} of ${matches.count}`)}
      </span>
      <button
        type="button"
        className="button-icon"
        aria-label={t`Previous match`}
        onClick={() => onFind(text, 'previous', false)}
      >
        <Icon name="up" />
      </button>
      <button type="submit" className="button-icon" aria-label={t`Next match`}>
        <Icon name="down" />
      </button>
      <button type="button" className="button-icon" aria-label={t`Close search`} onClick={onClose}>
        <Icon name="close" />
      </button>
    </form>
  );
}
