/** A link to the web: its name, and where it leads. */

import { useState } from 'react';
import { Icon } from '../../components/parts/icons';
import { t } from '../../language/t';
import { changeItems } from '../document/acts';
import { MAX_TITLE, type Item } from '../document/items';
import { addressWords, typedAddress } from '../document/links';
import type { Stage } from '../view/stage';

interface LinkProps {
  readonly stage: Stage;
  readonly item: Item;
  readonly inside: boolean;
}

export function Link({ stage, item, inside }: LinkProps) {
  const { url, title } = item;
  if (inside && stage.edits) return <LinkForm stage={stage} item={item} />;
  return (
    <div className="link-item">
      <Icon name="link" />
      <span className="link-words">
        {url === null ? (
          <span className="quiet">{t`Double-click to give an address`}</span>
        ) : (
          <>
            <a href={url} title={url} target="_blank" rel="noopener noreferrer">
              {title || addressWords(url)}
            </a>
            {title !== '' && <span className="quiet">{addressWords(url)}</span>}
          </>
        )}
      </span>
    </div>
  );
}

function LinkForm({ stage, item }: Omit<LinkProps, 'inside'>) {
  const [address, setAddress] = useState(item.url ?? '');
  const [title, setTitle] = useState(item.title);
  const [trouble, setTrouble] = useState(false);

  function keep(): void {
    const url = typedAddress(address);
    setTrouble(url === null);
    if (url === null) return;
    changeItems(stage.board, [item.id], { url, title: title.trim() || null });
    stage.leave();
  }

  return (
    <form
      className="link-form"
      onSubmit={(event) => {
        event.preventDefault();
        keep();
      }}
    >
      <input
        autoFocus
        aria-label={t`Address`}
        aria-invalid={trouble}
        inputMode="url"
        placeholder={t`https://…`}
        spellCheck={false}
        value={address}
        onChange={({ target }) => {
          setTrouble(false);
          setAddress(target.value);
        }}
      />
      <input
        aria-label={t`Name`}
        placeholder={t`Name`}
        maxLength={MAX_TITLE}
        value={title}
        onChange={({ target }) => setTitle(target.value)}
      />
      <button type="submit" className="spoken">
        {t`Keep`}
      </button>
    </form>
  );
}
