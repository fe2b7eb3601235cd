/** The count of what waits, in the page's title, its icon, and the icon of the installed page. */

const SIZE = 64;

/** `(2) box · Atoll`. Pure. */
export function titleOf(count: number, name: string | null): string {
  const page = name === null ? 'Atoll' : `${name} · Atoll`;
  return count === 0 ? page : `(${count}) ${page}`;
}

export function showBadge(count: number): void {
  void drawIcon(count);
  const device = navigator as Partial<Pick<Navigator, 'setAppBadge' | 'clearAppBadge'>>;
  const done = count === 0 ? device.clearAppBadge?.() : device.setAppBadge?.(count);
  // A system without badges refuses: the title has the count.
  done?.catch(() => undefined);
}

let plain: string | null = null;
let drawn = 0;

async function drawIcon(count: number): Promise<void> {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link === null) return;
  plain ??= link.href;
  drawn = count;
  if (count === 0) {
    link.href = plain;
    return;
  }
  try {
    const image = new Image(SIZE, SIZE);
    image.src = plain;
    await image.decode();
    const address = withCount(image, count);
    // Another count may have been drawn meanwhile.
    if (drawn === count && address !== null) link.href = address;
  } catch {
    // An icon that cannot be drawn stays as it is: the title has the count.
  }
}

function withCount(image: HTMLImageElement, count: number): string | null {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = SIZE;
  const at = canvas.getContext('2d');
  if (at === null) return null;
  at.drawImage(image, 0, 0, SIZE, SIZE);
  at.fillStyle = '#c03221';
  at.beginPath();
  at.arc(44, 20, 20, 0, 2 * Math.PI);
  at.fill();
  at.fillStyle = '#ffffff';
  at.font = 'bold 30px sans-serif';
  at.textAlign = 'center';
  at.textBaseline = 'middle';
  at.fillText(count > 9 ? '9+' : String(count), 44, 22, 34);
  return canvas.toDataURL('image/png');
}
