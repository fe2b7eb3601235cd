/** Where a preview leads: a port, and a path there. Pure, but for what each sandbox showed last. */

/** Where a preview is, or would begin. */
export interface PreviewPlace {
  readonly port: number | null;
  readonly path: string;
}

/** Below it lie ports that somebody chose; the system hands out the others. */
const FIRST_EPHEMERAL = 32_768;
const MAX_PATH = 2_000;
const LOCAL =
  /^(?:https?:\/\/)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])?:(\d{1,5})(?=[/?#]|$)/i;

const last = new Map<string, PreviewPlace>();

/** What a sandbox's preview showed last on this page. */
export function lastPlace(sandboxId: string): PreviewPlace {
  return last.get(sandboxId) ?? { port: null, path: '/' };
}

export function keepPlace(sandboxId: string, place: PreviewPlace): void {
  last.set(sandboxId, place);
}

/** The port to show where nobody chose one: the lowest that its program's person chose. */
export function firstPort(ports: readonly number[]): number | null {
  return ports.find((port) => port < FIRST_EPHEMERAL) ?? ports[0] ?? null;
}

/** Reads what was typed as an address: a path, or one of a server inside with its port. Null for
 *  any other, such as another site. */
export function readAddress(typed: string, now: PreviewPlace): PreviewPlace | null {
  const words = typed.trim();
  const local = LOCAL.exec(words);
  const port = local === null ? now.port : Number(local[1]);
  if (port !== null && (port < 1 || port > 65_535)) return null;
  const rest = local === null ? words : words.slice(local[0].length);
  if (local === null && /^[a-z][a-z0-9+.-]*:/i.test(rest)) return null;
  const path = writtenPath(rest);
  return path === null ? null : { port, path };
}

/** A path as it stands in an address; null for one that leads to another origin. */
function writtenPath(typed: string): string | null {
  const base = 'http://preview.invalid';
  const rooted = /^[/?#]/.test(typed) ? typed : `/${typed}`;
  if (!URL.canParse(rooted, base)) return null;
  const url = new URL(rooted, base);
  const path = `${url.pathname}${url.search}${url.hash}`;
  const stays = url.origin === base && !path.startsWith('//') && path.length <= MAX_PATH;
  return stays ? path : null;
}
