/** Which links of a terminal's output may be followed, and how. */

/** The address to open, or null: only http and https leave the terminal. */
export function followable(text: string): string | null {
  try {
    const url = new URL(text);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
  } catch {
    return null;
  }
}

/** Opens a link in a tab that cannot reach back to this page. */
export function follow(text: string): void {
  const href = followable(text);
  if (href !== null) window.open(href, '_blank', 'noopener,noreferrer');
}
