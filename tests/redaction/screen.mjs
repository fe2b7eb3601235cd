// Draws streams with @xterm/headless. Reads one JSON line each, {cols, stream (base64)}, and answers
// with one: {cells, titles}. `cells` are the characters of all cells that were written to, from the
// first row that was kept to the last; a wide character is followed by the empty cell it covers.
// Bytes are parsed at once: no handler here is asynchronous.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2]);
const { Terminal } = require("@xterm/headless");

for await (const line of createInterface({ input: process.stdin })) {
  const { cols, stream } = JSON.parse(line);
  const term = new Terminal({ cols, rows: 12, scrollback: 10000, allowProposedApi: true, logLevel: 'off' });
  const titles = [];
  term.onTitleChange((title) => titles.push(title));
  term._core._inputHandler.parse(Buffer.from(stream, "base64"));
  const buffer = term.buffer.active;
  const cells = [];
  for (let y = 0; y < buffer.length; y += 1) {
    const row = buffer.getLine(y);
    for (let x = 0; x < cols; x += 1) {
      const cell = row.getCell(x);
      if (cell.getChars() !== "" || cell.getWidth() === 0) cells.push(cell.getChars());
    }
  }
  term.dispose();
  console.log(JSON.stringify({ cells, titles }));
}
