/** Draws a PDF, in a frame that is nobody: its origin is opaque, and it may fetch nothing.
 *
 * The page sends the bytes and gets back how many pages there are. Pages are pictures: there are no
 * links, forms or scripts, and nothing of the file becomes an element.
 */

import {
  AnnotationMode,
  getDocument,
  type PDFDocumentProxy,
  type PDFPageProxy,
} from 'pdfjs-dist/legacy/build/pdf.mjs';
// It makes itself known: a frame without an origin starts no worker.
import 'pdfjs-dist/legacy/build/pdf.worker.mjs';

/** Pages that are laid out. */
const PAGES_MAX = 500;
const PIXELS_MAX = 12_000_000;

const pages = document.getElementById('pages');

window.addEventListener('message', (event: MessageEvent<unknown>) => {
  if (event.source !== window.parent || !(event.data instanceof Uint8Array)) return;
  show(event.data).then(
    (count) => tell({ is: 'shown', pages: count }),
    () => tell({ is: 'failed' }),
  );
});

function tell(message: object): void {
  // To whom it is shown: the answer tells nothing that is a secret.
  window.parent.postMessage(message, '*');
}

async function show(data: Uint8Array): Promise<number> {
  const pdf = await getDocument({
    data,
    enableXfa: false,
    isEvalSupported: false,
    isImageDecoderSupported: false,
    maxImageSize: 50_000_000,
    useWasm: false,
    useWorkerFetch: false,
  }).promise;
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) target.replaceChildren();
        else if (target instanceof HTMLElement) void draw(pdf, target);
      }
    },
    { rootMargin: '800px' },
  );
  const first = await pdf.getPage(1);
  for (let number = 1; number <= Math.min(pdf.numPages, PAGES_MAX); number += 1) {
    const place = document.createElement('div');
    place.className = 'page';
    place.dataset['number'] = String(number);
    measure(place, first);
    pages?.append(place);
    seen.observe(place);
  }
  return pdf.numPages;
}

function measure(place: HTMLElement, page: PDFPageProxy): void {
  const { width, height } = page.getViewport({ scale: 4 / 3 });
  place.style.setProperty('--width', `${width}px`);
  place.style.setProperty('--ratio', `${width} / ${height}`);
}

async function draw(pdf: PDFDocumentProxy, place: HTMLElement): Promise<void> {
  const page = await pdf.getPage(Number(place.dataset['number']));
  measure(place, page);
  const whole = page.getViewport({ scale: 1 });
  const wanted = ((place.clientWidth || whole.width) / whole.width) * window.devicePixelRatio;
  const most = Math.sqrt(PIXELS_MAX / (whole.width * whole.height));
  const viewport = page.getViewport({ scale: Math.min(wanted, most) });
  const canvas = document.createElement('canvas');
  canvas.width = Math.ceil(viewport.width);
  canvas.height = Math.ceil(viewport.height);
  place.replaceChildren(canvas);
  await page.render({ canvas, viewport, annotationMode: AnnotationMode.DISABLE }).promise;
}

tell({ is: 'ready' });
