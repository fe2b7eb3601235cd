/**
 * Whether WebGL draws with hardware. In software it is slower than the page's own elements: half
 * a second for a full screen, and the processor is missing elsewhere.
 */

/** What browsers call their renderers in software. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

let measured: boolean | null = null;

/** Looked at once for each page: a context is dear, and the answer stays. */
export function drawsWithHardware(): boolean {
  measured ??= look(document.createElement('canvas'));
  return measured;
}

/** A renderer that says it is slow, or whose name is that of one in software, is not hardware. */
export function look(canvas: Pick<HTMLCanvasElement, 'getContext'>): boolean {
  const context = canvas.getContext('webgl2', {
    failIfMajorPerformanceCaveat: true,
  });
  if (context === null) return false;
  const info = context.getExtension('WEBGL_debug_renderer_info');
  const name: unknown = info === null ? '' : context.getParameter(info.UNMASKED_RENDERER_WEBGL);
  context.getExtension('WEBGL_lose_context')?.loseContext();
  return !(typeof name === 'string' && SOFTWARE.test(name));
}
