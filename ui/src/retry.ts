/** How long to wait before connecting again. Pure. */

interface Pace {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Twice as long each time; jitter keeps a hundred panes from coming back in one instant. */
export function retryDelay(attempts: number, { firstMs, mostMs }: Pace, random: number): number {
  return Math.min(mostMs, firstMs * 2 ** attempts) * (0.5 + random / 2);
}
