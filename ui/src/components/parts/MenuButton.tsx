/** Opens the rail where there is no room for it beside the page. */

import { Icon } from './icons';

export function MenuButton({ onMenu }: { readonly onMenu: () => void }) {
  return (
    <button
      type="button"
      className="button-icon narrow-only"
      aria-label="Sandboxes"
      onClick={onMenu}
    >
      <Icon name="menu" />
    </button>
  );
}
