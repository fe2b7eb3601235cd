// Judges replays with @xterm/headless. Reads {cols, rows, stream, cuts: [{at, preamble, rest}], whole}
// from stdin (bytes in base64), and prints what differs, one JSON line each.
//
// For every cut: a live terminal fed all before it, against one that gets the preamble only: is
// each in the same state? For cuts with `rest` both then go on to the end of the stream, the
// live one with its picture wiped at the cut: do both show the same? And where the program
// painted everything anew after the cut: is it what the live one shows that lost nothing?
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(process.argv[2]);
const { Terminal } = require("@xterm/headless");
const job = JSON.parse(readFileSync(0, "utf8"));
const stream = Buffer.from(job.stream, "base64");
let differences = 0;

function terminal() {
  return new Terminal({ cols: job.cols, rows: job.rows, scrollback: 0, allowProposedApi: true });
}

function write(term, data) {
  return new Promise((done) => term.write(data, done));
}

function pen(attributes) {
  const { fg, bg, extended } = attributes;
  return [fg, bg, extended.underlineStyle, extended.underlineColor];
}

function state(term) {
  const core = term._core;
  const input = core._inputHandler;
  const { sendFocusMode, bracketedPasteMode, ...modes } = term.modes;
  return {
    ...modes,
    sendFocusMode,
    bracketedPasteMode,
    // A replay may begin inside a synchronized update, and must not hold the picture back.
    synchronizedOutputMode: false,
    alternate: term.buffer.active.type,
    hidden: core.coreService.isCursorHidden,
    region: [core._bufferService.buffer.scrollTop, core._bufferService.buffer.scrollBottom],
    pen: pen(input._curAttrData),
    glevel: core._charsetService.glevel,
    charset: JSON.stringify(core._charsetService.charset ?? null),
  };
}

function picture(term) {
  const buffer = term.buffer.active;
  const rows = [];
  for (let y = 0; y < term.rows; y += 1) {
    const line = buffer.getLine(buffer.baseY + y);
    let row = "";
    for (let x = 0; x < term.cols; x += 1) {
      const cell = line.getCell(x);
      const blank = cell.getChars() === "" || cell.getChars() === " ";
      row += `${blank ? " " : cell.getChars()}\u0001${cell.bg}\u0001${blank ? "" : cell.fg}\u0002`;
    }
    rows.push(row);
  }
  return { rows, cursor: [buffer.cursorX, buffer.cursorY] };
}

function wipe(term) {
  // What a terminal loses that was not there: the pictures of both screens and all places.
  const service = term._core._bufferService;
  for (const buffer of [service.buffers.normal, service.buffers.alt]) {
    const { scrollTop, scrollBottom } = buffer;
    buffer.clear();
    buffer.scrollTop = scrollTop;
    buffer.scrollBottom = scrollBottom;
    buffer.x = 0;
    buffer.y = term.modes.originMode ? scrollTop : 0;
    buffer.savedX = 0;
    buffer.savedY = 0;
  }
  for (const buffer of [service.buffers.normal, service.buffer]) buffer.fillViewportRows();
}

function tell(what, at, live, replayed) {
  differences += 1;
  if (differences <= 20) console.log(JSON.stringify({ what, at, live, replayed }));
}

function compare(what, at, live, replayed) {
  if (JSON.stringify(live) === JSON.stringify(replayed)) return;
  for (const key of Object.keys(live)) {
    const [one, other] = [live[key], replayed[key]];
    if (JSON.stringify(one) === JSON.stringify(other)) continue;
    const row = key === "rows" ? one.findIndex((each, y) => each !== other[y]) : -1;
    tell(`${what}: ${key}${row < 0 ? "" : ` ${row}`}`, at, row < 0 ? one : one[row], row < 0 ? other : other[row]);
    return;
  }
}

const live = terminal();
let fed = 0;
const whole = terminal();
await write(whole, stream);
const end = picture(whole);
const replayed = terminal();
for (const cut of job.cuts) {
  await write(live, stream.subarray(fed, cut.at));
  fed = cut.at;
  const preamble = Buffer.from(cut.preamble, "base64");
  await write(replayed, preamble);
  compare("state", cut.at, state(live), state(replayed));
  if (cut.rest !== undefined) {
    const rest = Buffer.from(cut.rest, "base64");
    const lost = terminal();
    await write(lost, stream.subarray(0, cut.at));
    wipe(lost);
    await write(lost, stream.subarray(cut.at));
    const fresh = terminal();
    await write(fresh, preamble);
    await write(fresh, rest);
    compare("picture", cut.at, picture(lost), picture(fresh));
    if (cut.repainted) compare("whole picture", cut.at, end, picture(fresh));
    lost.dispose();
    fresh.dispose();
  }
}
for (const [at, data] of job.whole) {
  const early = terminal();
  await write(early, stream.subarray(0, at));
  const late = terminal();
  await write(late, Buffer.from(data, "base64"));
  compare("late viewer", at, picture(early), picture(late));
  compare("late viewer state", at, state(early), state(late));
  early.dispose();
  late.dispose();
}
console.log(JSON.stringify({ differences, cuts: job.cuts.length, whole: job.whole.length }));
