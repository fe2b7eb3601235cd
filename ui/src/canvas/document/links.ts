/** Addresses that may be followed from a dashboard. Pure. */

const MAX_ADDRESS = 2_000;

/** The address as a browser spells it; null for anything but `http` and `https`. */
export function safeAddress(text: string): string | null {
  if (text === '' || text.length > MAX_ADDRESS) return null;
  try {
    const url = new URL(text);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
  } catch {
    return null;
  }
}

/** An address as a person types it, with or without `https://`; null for none. */
export function typedAddress(text: string): string | null {
  const words = text.trim();
  if (/\s/.test(words)) return null;
  if (/^https?:\/\//i.test(words)) return safeAddress(words);
  return /^[\w-]+(\.[\w-]+)+([:/?#].*)?$/.test(words) ? safeAddress(`https://${words}`) : null;
}

/** The host and the path of an address, without what everyone knows. */
export function addressWords(address: string): string {
  return address.replace(/^https?:\/\/(www\.)?/, '').replace(/\/$/, '');
}
