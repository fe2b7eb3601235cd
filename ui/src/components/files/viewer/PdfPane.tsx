/** A PDF, drawn by a frame without an origin: what the file does to it reaches nothing of ours. */

import { useEffect, useRef, useState } from 'react';
import { plural, t } from '../../../language/t';

interface PdfPaneProps {
  readonly bytes: Uint8Array;
  readonly name: string;
}

type Told = 'loading' | 'failed' | number;

/** Of these, the frame lays out no more. */
const PAGES_MAX = 500;

export function PdfPane({ bytes, name }: PdfPaneProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [told, setTold] = useState<Told>('loading');
  useEffect(() => {
    const hear = ({ source, data }: MessageEvent<unknown>): void => {
      const box = frame.current?.contentWindow;
      if (box == null || source !== box || typeof data !== 'object' || data === null) return;
      const { is, pages } = data as { readonly is?: unknown; readonly pages?: unknown };
      // A frame without an origin can be named by no other word.
      if (is === 'ready') box.postMessage(bytes, '*');
      else if (is === 'shown' && typeof pages === 'number') setTold(pages);
      else if (is === 'failed') setTold('failed');
    };
    window.addEventListener('message', hear);
    return () => window.removeEventListener('message', hear);
  }, [bytes]);
  return (
    <div className="viewer-pdf">
      <iframe ref={frame} src="pdf.html" sandbox="allow-scripts" title={t`Pages of ${name}`} />
      <p className="viewer-note quiet" role="status">
        {wordsOf(told)}
      </p>
    </div>
  );
}

function wordsOf(told: Told): string {
  if (told === 'loading') return t`Loading…`;
  if (told === 'failed') return t`This PDF cannot be drawn: download it.`;
  const pages = plural(told, { one: '# page', other: '# pages' });
  return told > PAGES_MAX ? t`${pages}, of which the first ${PAGES_MAX} are shown` : pages;
}
