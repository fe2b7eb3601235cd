/** Files a person has seen, by the digest they had then: a file that changed is new again. */

type Seen = Readonly<Record<string, string>>;

const MAX_FILES = 1000;
const keyOf = (sandbox: string): string => `atoll.seen.${sandbox}`;

export function loadSeen(sandbox: string): Seen {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyOf(sandbox)) ?? '{}');
    if (typeof value !== 'object' || value === null) return {};
    return Object.fromEntries(
      Object.entries(value).filter((one): one is [string, string] => typeof one[1] === 'string'),
    );
  } catch {
    return {};
  }
}

/** Marks a file as seen, or with `digest` null as not seen. */
export function markSeen(sandbox: string, seen: Seen, path: string, digest: string | null): Seen {
  const others = Object.entries(seen).filter(([name]) => name !== path);
  const marked: [string, string][] = digest === null ? [] : [[path, digest]];
  const next = Object.fromEntries([...others, ...marked].slice(-MAX_FILES));
  try {
    localStorage.setItem(keyOf(sandbox), JSON.stringify(next));
  } catch {
    // Without storage the marks last as long as the page.
  }
  return next;
}
