/** The fonts of terminals: which they are, and that they are there before a cell is measured. */

/** A terminal's font: our own first, which has all that agents draw. */
export const TERMINAL_FONT =
  '"Atoll Mono", "Atoll Symbols", ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace';

/** A character of each file that is seen at once; the others come when they are shown. */
const SEEN = 'a│⠋✻';
const FACES = ['400 13px "Atoll Mono"', '700 13px "Atoll Mono"', '400 13px "Atoll Symbols"'];
/** A terminal in another font is better than none. */
const PATIENCE_MS = 2_000;

let loading: Promise<void> | undefined;

/** Resolves once the fonts are loaded, or after two seconds without them. */
export function fontsLoaded(): Promise<void> {
  loading ??= Promise.race([load(), patience()]);
  return loading;
}

async function load(): Promise<void> {
  await Promise.allSettled(FACES.map((face) => document.fonts.load(face, SEEN)));
}

function patience(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, PATIENCE_MS);
  });
}
