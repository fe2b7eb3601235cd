/** What stands where a preview would be, while there is none: why, and what to do. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { isComing, perform } from '../../state/acts';
import { openPort } from '../../state/previews/ports';
import { useRights } from '../../state/team/useRights';
import { Empty, Loading, Trouble } from '../parts/States';
import type { Preview } from './usePreview';

interface PreviewInsteadProps {
  readonly sandbox: Sandbox;
  readonly preview: Preview;
}

export function PreviewInstead({ sandbox, preview }: PreviewInsteadProps) {
  const { listening, looked, place, entry } = preview;
  const { port } = place;
  if (!['ready', 'active'].includes(sandbox.state)) return <NotRunning sandbox={sandbox} />;
  if (entry.is === 'problem')
    return (
      <Trouble title={t`The preview could not be opened`} act={<Again preview={preview} />}>
        {entry.words}
      </Trouble>
    );
  if (!looked || (port !== null && listening.includes(port)))
    return <Loading what={t`the preview`} />;
  return (
    <Empty icon="network">
      <span className="preview-words">
        <strong>
          {port === null ? t`Nothing listens inside yet.` : t`Nothing listens at port ${port} yet.`}
        </strong>
        {t`Start a server in a terminal, or ask the agent to. It shows here by itself.`}
        <code>npm run dev</code>
      </span>
    </Empty>
  );
}

function Again({ preview }: { readonly preview: Preview }) {
  return (
    <button type="button" className="button button-small" onClick={preview.enter}>
      {t`Try again`}
    </button>
  );
}

function NotRunning({ sandbox }: { readonly sandbox: Sandbox }) {
  const { manages } = useRights(sandbox.sandbox_id);
  const { state } = sandbox;
  if (isComing(sandbox))
    return <Empty icon="network">{t`It is being started. Its servers show here then.`}</Empty>;
  if (state === 'destroying' || state === 'destroyed')
    return <Empty icon="network">{t`It is being destroyed.`}</Empty>;
  const start = (
    <button
      type="button"
      className="button button-primary"
      onClick={() => void perform(sandbox, 'start')}
    >
      {t`Start it`}
    </button>
  );
  return (
    <Empty icon="network" act={manages ? start : undefined}>
      {t`It does not run, so no server does. Started again, its servers must be started, too.`}
    </Empty>
  );
}

/** Why a frame cannot show this origin here; null where it can. A tab of its own can. */
export function unframable({ entry }: Preview): string | null {
  if (entry.is !== 'in') return null;
  const here = ['localhost', '127.0.0.1', '[::1]'].includes(window.location.hostname);
  if (entry.localOnly && !here)
    return t`Without a preview_domain, previews open on the server's own machine alone.`;
  if (!entry.localOnly && entry.origin.startsWith('http:'))
    return t`Over plain HTTP a browser keeps a preview's cookie out of frames: it opens in a tab of its own.`;
  return null;
}

interface OnlyTabProps {
  readonly words: string;
  readonly sandboxId: string;
  readonly preview: Preview;
}

export function OnlyTab({ words, sandboxId, preview: { place } }: OnlyTabProps) {
  const { port, path } = place;
  return (
    <Empty
      icon="network"
      act={
        <button
          type="button"
          className="button"
          onClick={() => port !== null && void openPort(sandboxId, port, path)}
        >
          {t`Open in a tab`}
        </button>
      }
    >
      {words}
    </Empty>
  );
}
