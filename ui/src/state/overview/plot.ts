/** The geometry of a plot over time: scale, ticks and paths. Pure. */

/** A value of each point; null where nobody watched. */
export type Values = readonly (number | null)[];

export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The highest of several series, at least 1. */
export function highest(series: readonly Values[]): number {
  return Math.max(1, ...series.map((values) => Math.max(0, ...values.map((one) => one ?? 0))));
}

/** A round number at or above `value`, for the top of a scale: 1, 2 or 5 times a power of ten, or of
 *  1024 for bytes. */
export function niceTop(value: number, base: 10 | 1024 = 10): number {
  const unit =
    base === 1024 ? 1024 ** Math.floor(Math.log(Math.max(1, value)) / Math.log(1024)) : 1;
  const scaled = Math.max(1, value) / unit;
  const power = 10 ** Math.floor(Math.log10(scaled));
  const step = [1, 2, 5, 10].find((one) => one * power >= scaled) ?? 10;
  return step * power * unit;
}

/** Where a point lies between the left and the right edge. */
export function placeOf(index: number, count: number, frame: Frame): number {
  const room = frame.width - frame.left - frame.right;
  return frame.left + (count < 2 ? room / 2 : (index / (count - 1)) * room);
}

/** The height of a value. */
export function heightOf(value: number, top: number, frame: Frame): number {
  return frame.height - frame.bottom - (value / top) * (frame.height - frame.top - frame.bottom);
}

/** A line through the values, broken where nobody watched. */
export function linePath(values: Values, top: number, frame: Frame): string {
  let path = '';
  let open = false;
  values.forEach((value, index) => {
    if (value === null) {
      open = false;
      return;
    }
    const x = placeOf(index, values.length, frame).toFixed(1);
    const y = heightOf(value, top, frame).toFixed(1);
    path += `${open ? 'L' : 'M'}${x} ${y}`;
    // A value alone between two gaps is a dot: a line of no length has round ends.
    if (!open && (values[index + 1] ?? null) === null) path += `l0 0`;
    open = true;
  });
  return path;
}

/** The area under the values, in one part for each stretch that was watched. */
export function areaPath(values: Values, top: number, frame: Frame): string {
  const floor = (frame.height - frame.bottom).toFixed(1);
  let path = '';
  let begun: number | null = null;
  const close = (last: number): void => {
    if (begun !== null) path += `L${placeOf(last, values.length, frame).toFixed(1)} ${floor}Z`;
    begun = null;
  };
  values.forEach((value, index) => {
    if (value === null) {
      close(index - 1);
      return;
    }
    const x = placeOf(index, values.length, frame).toFixed(1);
    if (begun === null) path += `M${x} ${floor}`;
    begun ??= index;
    path += `L${x} ${heightOf(value, top, frame).toFixed(1)}`;
  });
  close(values.length - 1);
  return path;
}

/** The point nearest to a place; null where there are none. */
export function nearest(x: number, count: number, frame: Frame): number | null {
  if (count === 0) return null;
  const room = frame.width - frame.left - frame.right;
  const index = room <= 0 ? 0 : Math.round(((x - frame.left) / room) * (count - 1));
  return Math.min(count - 1, Math.max(0, index));
}

/** A count in few characters: `950`, `12.4k`, `3.1M`. */
export function countWords(value: number): string {
  const units = ['', 'k', 'M', 'G', 'T'];
  let scaled = value;
  let unit = 0;
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  if (unit === 0) return String(Math.round(scaled));
  return `${scaled < 99.5 ? Number(scaled.toFixed(1)) : Math.round(scaled)}${units[unit] ?? ''}`;
}
