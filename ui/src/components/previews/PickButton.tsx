/** Lets a person point at an element of the page in a preview. */

import { useEffect } from 'react';
import { t } from '../../language/t';
import { Icon } from '../parts/icons';
import type { FrameReports } from './useReports';

export function PickButton({ told: { reports, pick } }: { readonly told: FrameReports }) {
  const { speaks, picking } = reports;
  useEffect(() => {
    if (!picking) return;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') pick(false);
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  });
  const title = speaks ? t`Pick an element` : t`The page lets nobody pick an element`;
  return (
    <button
      type="button"
      className="button-icon preview-pick"
      aria-label={t`Pick an element`}
      aria-pressed={picking}
      title={title}
      disabled={!speaks}
      onClick={() => pick(!picking)}
    >
      <Icon name="pointer" />
    </button>
  );
}
