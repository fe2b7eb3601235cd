/** Opens the rail where there is no room for it beside the page, or where it was folded away. */

import { t } from '../../language/t';
import { foldRail, railFolded } from '../../terminal/layout/layouts';
import { useStore } from '../../state/store';
import { Icon } from './icons';

export function MenuButton({ onMenu }: { readonly onMenu: () => void }) {
  const folded = useStore(railFolded);
  return (
    <button
      type="button"
      className={folded ? 'button-icon' : 'button-icon narrow-only'}
      aria-label={t`Sandboxes`}
      onClick={() => {
        if (folded) foldRail();
        onMenu();
      }}
    >
      <Icon name="menu" />
    </button>
  );
}
