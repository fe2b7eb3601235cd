/** A terminal's screen drawn once into a canvas element: what stands for it where it is not live. */

import type { IBuffer, IBufferCell, ITheme, Terminal } from '@xterm/xterm';

import { TERMINAL_FONT } from './fonts';

/** Pixels of a cell: enough for a picture that is looked at from afar. */
const CELL = { w: 6, h: 12 } as const;
const FONT_PX = 10;
/** Larger grids are cut: a picture must stay small. */
const MOST = { cols: 240, rows: 100 } as const;

export function drawPicture(term: Terminal, theme: ITheme): HTMLCanvasElement | null {
  const [cols, rows] = [Math.min(term.cols, MOST.cols), Math.min(term.rows, MOST.rows)];
  const canvas = document.createElement('canvas');
  canvas.width = cols * CELL.w;
  canvas.height = rows * CELL.h;
  const context = canvas.getContext('2d', { alpha: false });
  if (context === null) return null;
  context.fillStyle = theme.background ?? '#000';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.textBaseline = 'middle';
  const { active } = term.buffer;
  for (let row = 0; row < rows; row += 1) drawRow(context, active, row, cols, theme);
  return canvas;
}

function drawRow(
  context: CanvasRenderingContext2D,
  buffer: IBuffer,
  row: number,
  cols: number,
  theme: ITheme,
): void {
  const line = buffer.getLine(buffer.baseY + row);
  if (line === undefined) return;
  const y = row * CELL.h;
  const cell = buffer.getNullCell();
  for (let col = 0; col < cols; col += 1) {
    if (line.getCell(col, cell) === undefined) return;
    const { ink, ground } = coloursOf(cell, theme);
    const wide = cell.getWidth() * CELL.w;
    if (ground !== null) {
      context.fillStyle = ground;
      context.fillRect(col * CELL.w, y, wide, CELL.h);
    }
    const letters = cell.getChars();
    if (letters.trim() === '') continue;
    context.font = `${cell.isBold() ? '600 ' : ''}${FONT_PX}px ${TERMINAL_FONT}`;
    context.fillStyle = ink;
    context.fillText(letters, col * CELL.w, y + CELL.h / 2, wide);
  }
}

function coloursOf(cell: IBufferCell, theme: ITheme): { ink: string; ground: string | null } {
  const ink = colourOf(cell.getFgColor(), cell.isFgRGB(), cell.isFgPalette(), theme);
  const ground = colourOf(cell.getBgColor(), cell.isBgRGB(), cell.isBgPalette(), theme);
  const [plainInk, plainGround] = [theme.foreground ?? '#fff', theme.background ?? '#000'];
  return cell.isInverse()
    ? { ink: ground ?? plainGround, ground: ink ?? plainInk }
    : { ink: ink ?? plainInk, ground };
}

const NAMES = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white',
  'brightBlack',
  'brightRed',
  'brightGreen',
  'brightYellow',
  'brightBlue',
  'brightMagenta',
  'brightCyan',
  'brightWhite',
] as const;
const CUBE = [0, 95, 135, 175, 215, 255];

/** A cell's colour; null for the terminal's own. */
function colourOf(value: number, rgb: boolean, palette: boolean, theme: ITheme): string | null {
  if (rgb) return `#${value.toString(16).padStart(6, '0')}`;
  if (!palette) return null;
  const name = NAMES[value];
  if (name !== undefined) return theme[name] ?? null;
  if (value >= 232) {
    const grey = 8 + (value - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const [r, g, b] = [36, 6, 1].map((unit) => CUBE[Math.floor((value - 16) / unit) % 6] ?? 0);
  return `rgb(${r ?? 0} ${g ?? 0} ${b ?? 0})`;
}
