/** The preview among the panes of a sandbox: alone in view, or beside its terminals. */

import { useState } from 'react';
import type { Sandbox } from '../../api/types';
import { go } from '../../state/route';
import { panesOf, placesOf } from '../../terminal/layout/layout';
import { later } from '../parts/later';
import { panelOf } from '../parts/TabList';
import { boxOf } from './TerminalPane';
import { PREVIEW, type Arrangement } from './useArrangement';

const PreviewPane = later(async () => (await import('../previews/PreviewPane')).PreviewPane);

interface PreviewPanelProps {
  readonly sandbox: Sandbox;
  readonly chosen: string;
  readonly arrangement: Arrangement;
}

/** Once it was looked at it stays, out of view: what somebody did in its page is not lost. */
export function PreviewPanel({ sandbox, chosen, arrangement: { shown } }: PreviewPanelProps) {
  const [opened, setOpened] = useState(false);
  const beside = shown !== null && panesOf(shown).includes(PREVIEW);
  const visible = chosen === PREVIEW || beside;
  if (visible && !opened) setOpened(true);
  if (!opened) return null;
  const place = shown === null ? null : (placesOf(shown).get(PREVIEW) ?? null);
  return (
    <div
      {...panelOf(PREVIEW)}
      {...boxOf({ place, active: chosen === PREVIEW })}
      hidden={!visible}
      onFocus={() => {
        if (beside && chosen !== PREVIEW) go(sandbox.sandbox_id, PREVIEW);
      }}
    >
      <PreviewPane sandbox={sandbox} />
    </div>
  );
}
