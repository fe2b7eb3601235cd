/** Reading JSON that somebody else wrote: what is not as expected becomes empty. Pure. */

export type Fields = Readonly<Record<string, unknown>>;

/** The value of a JSON text; null when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** An object's fields; null for anything else. */
export function fieldsOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : null;
}

export function word(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function whole(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.trunc(value) : 0;
}

/** The entry of a table under a name that somebody else wrote: never what every object has. */
export function entryOf<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
