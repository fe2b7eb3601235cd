// Draws streams with @xterm/headless. Reads one JSON line each, {cols, stream (base64)}, and answers
// with one: {cells, titles, commands, answers}. `cells` are the characters of all cells that were written to, from the
// first row that was kept to the last; a wide character is followed by the empty cell it covers.
// `commands` are the operating system commands and device control strings that took effect, as
// [kind, number or name, data]; `answers` is what the terminal typed by itself. Bytes are parsed at once: no handler here is asynchronous.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2]);
const { Terminal } = require("@xterm/headless");

// Parts of an unknown string come as START (or HOOK), PUT and END (or UNHOOK), whose argument is
// whether it was ended and not cancelled.
const gathered = (done) => {
  let text = '';
  return (id, action, part) => {
    if (action === 'START' || action === 'HOOK') text = '';
    else if (action === 'PUT') text += part;
    else if (part) done(id, text);
  };
};

for await (const line of createInterface({ input: process.stdin })) {
  const { cols, stream } = JSON.parse(line);
  const term = new Terminal({ cols, rows: 12, scrollback: 10000, allowProposedApi: true, logLevel: 'off' });
  const titles = [];
  const commands = [];
  let answers = '';
  term.onData((data) => (answers += data));
  const parser = term._core._inputHandler._parser;
  const heard = (id) => (data) => (commands.push(['osc', String(id), data]), false);
  for (const id of [0, 1, 2, 4, 8, 10, 11, 12, 104, 110, 111, 112]) term.parser.registerOscHandler(id, heard(id));
  parser.setOscHandlerFallback(gathered((id, data) => commands.push(['osc', String(id), data])));
  parser.setDcsHandlerFallback(gathered((id, data) => commands.push(['dcs', parser.identToString(id), data])));
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
  console.log(JSON.stringify({ cells, titles, commands, answers }));
}
