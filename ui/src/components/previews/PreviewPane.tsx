/**
 * A server inside a sandbox, shown in a frame: beside its terminals, and on a canvas.
 *
 * The frame has an origin of its own, where nothing of this page is: no cookie, no storage, no API.
 * So its own scripts, forms and storage may work there.
 */

import { useEffect, useRef, useState, type RefObject } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { isLive } from '../../state/acts';
import type { PreviewPlace } from '../../state/previews/places';
import { showPortsIn } from '../../state/previews/ports';
import { useRights } from '../../state/team/useRights';
import { PageTools } from './PageTools';
import { PreviewBar, WIDTHS, type Width } from './PreviewBar';
import { OnlyTab, PreviewInstead, unframable } from './PreviewInstead';
import { usePreview, type Preview } from './usePreview';
import { useReports } from './useReports';

const ALLOWED =
  'allow-scripts allow-same-origin allow-forms allow-modals allow-popups allow-downloads';

interface PreviewPaneProps {
  readonly sandbox: Sandbox;
  /** Where it begins; null where it was last. */
  readonly start?: PreviewPlace | null;
}

export function PreviewPane({ sandbox, start = null }: PreviewPaneProps) {
  const { sandbox_id: id } = sandbox;
  const preview = usePreview(id, start, isLive(sandbox));
  const [width, setWidth] = useState<Width>('full');
  const words = unframable(preview);
  const { entry, src, place } = preview;
  const frame = useRef<HTMLIFrameElement>(null);
  const told = useReports(frame, entry.is === 'in' ? entry.origin : null);
  const { works } = useRights(id);
  const shown = words === null && src !== null;
  const pane = useRef<HTMLElement>(null);
  useEffect(() => (pane.current === null ? undefined : showPortsIn(id, pane.current)), [id]);
  return (
    <section ref={pane} className="preview" aria-label={t`Preview`}>
      <PreviewBar {...{ preview, width }} sandboxId={id} onWidth={setWidth}>
        {shown && <PageTools {...{ told, works }} sandboxId={id} port={place.port ?? 0} />}
      </PreviewBar>
      <div className="preview-stage">
        {words !== null && <OnlyTab {...{ words, preview }} sandboxId={id} />}
        {words === null && preview.src === null && <PreviewInstead {...{ sandbox, preview }} />}
        {words === null && preview.src !== null && (
          <Paper
            {...{ preview, frame }}
            onLoad={told.listen}
            src={preview.src}
            wide={WIDTHS[width]}
          />
        )}
      </div>
    </section>
  );
}

interface PaperProps {
  readonly preview: Preview;
  readonly frame: RefObject<HTMLIFrameElement | null>;
  readonly onLoad: () => void;
  readonly src: string;
  /** Its pixels; null for the pane's own. */
  readonly wide: number | null;
}

/** The frame, made smaller where the pane is narrower than it. */
function Paper({ preview: { place, entry, turn }, frame, onLoad, src, wide }: PaperProps) {
  const [room, box] = useRoom();
  const scale = wide === null || room === 0 ? 1 : Math.min(1, room / wide);
  const size = { width: `${wide ?? 0}px`, height: `${100 / scale}%`, scale };
  const outer = wide === null ? {} : { width: `${wide * scale}px` };
  return (
    <div ref={box} className="preview-room">
      <div
        className={wide === null ? 'preview-paper' : 'preview-paper preview-sized'}
        style={outer}
      >
        <iframe
          key={`${entry.is === 'in' ? entry.at : 0} ${turn}`}
          ref={frame}
          className="preview-frame"
          title={t`Port ${place.port ?? ''}`}
          src={src}
          style={wide === null ? {} : size}
          sandbox={ALLOWED}
          referrerPolicy="no-referrer"
          onLoad={onLoad}
        />
      </div>
    </div>
  );
}

/** The width of an element in its own pixels, as it changes. */
function useRoom() {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setRoom(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [room, box] as const;
}
