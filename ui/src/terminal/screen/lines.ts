/** Lines of a terminal's buffer. Pure. */

/** The part of xterm's buffer that is read here. */
export interface Lines {
  readonly length: number;
  readonly baseY: number;
  readonly cursorY: number;
  getLine(
    y: number,
  ): { readonly isWrapped: boolean; translateToString(trim: boolean): string } | undefined;
}

/** All lines as plain text; those that the terminal wrapped are in one piece. */
export function textOf(buffer: Lines): string {
  const lines: string[] = [];
  for (let y = 0; y < buffer.length; y += 1) {
    const line = buffer.getLine(y);
    const text = line?.translateToString(true) ?? '';
    if (line?.isWrapped === true) lines.push((lines.pop() ?? '') + text);
    else lines.push(text);
  }
  return lines.join('\n').trimEnd();
}

/** The lowest row of the screen that is not blank, or the cursor's; from 0. */
export function newestOf(buffer: Lines, rows: number): number {
  const blank = (row: number): boolean =>
    (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? '') === '';
  let last = rows - 1;
  while (last > buffer.cursorY && blank(last)) last -= 1;
  return last;
}
