// Judges replays with @xterm/headless. Reads {cols, rows, stream, stops, cuts: [{at, preamble, rest}],
// late} from stdin (bytes in base64), and prints what differs, one JSON line each, then the counts.
//
// For every cut: a live terminal fed all before it, against one that gets the preamble only: is
// each in the same state? For cuts with `rest` both then go on to the end of the stream, the
// live one with its picture wiped at the cut: do both show the same at every stop on the way? A
// stop is [at, repainted]: where the program painted everything anew at `repainted`, and that was
// not before the cut: is it what the live one shows there that lost nothing?
// `late` is what viewers get who come at each place: the bytes that this one gets more than the one
// before. Do they see what those see who were there all the time?
//
// The replayed terminal is one and the same for all cuts: a preamble must do for one in any state.
// Bytes are parsed at once, since the queue of `Terminal.write` costs a millisecond a time.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(process.argv[2]);
const { Terminal } = require("@xterm/headless");
const job = JSON.parse(readFileSync(0, "utf8"));
const stream = Buffer.from(job.stream, "base64");
let differences = 0;
let pictures = 0;
let whole = 0;

function terminal() {
  return new Terminal({ cols: job.cols, rows: job.rows, scrollback: 0, allowProposedApi: true });
}

function write(term, data) {
  // Nothing here waits: no handler of ours is asynchronous.
  if (data.length > 0) term._core._inputHandler.parse(data);
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

const SPACE = 32;
const NARROW = 1 << 22;
const COMBINED = 1 << 21;
const EXTENDED = 1 << 28;

function same(one, other) {
  // Cell by cell in the rows as they are kept: content, foreground, background. A cell never
  // written to looks like a blank, and the foreground of a blank cannot be seen.
  const [now, then] = [one._data, other._data];
  for (let at = 0; at < now.length; at += 3) {
    const [seen, told] = [visible(now[at]), visible(then[at])];
    if (seen !== told || now[at + 2] !== then[at + 2]) return false;
    if (seen === SPACE) continue;
    if (now[at + 1] !== then[at + 1]) return false;
    const x = at / 3;
    if (seen & COMBINED && one._combined[x] !== other._combined[x]) return false;
    if (now[at + 2] & EXTENDED && lines(one, x) !== lines(other, x)) return false;
  }
  return true;
}

function visible(content) {
  return content === 0 || content === NARROW || content === (NARROW | SPACE) ? SPACE : content;
}

function lines(row, x) {
  const kept = row._extendedAttrs[x];
  return kept === undefined ? "" : `${kept.underlineStyle} ${kept.underlineColor}`;
}

function rowsOf(term) {
  const { buffer } = term._core._bufferService;
  return Array.from({ length: term.rows }, (_, y) => buffer.lines.get(buffer.ybase + y));
}

function text(row) {
  let found = "";
  for (let x = 0; x < job.cols; x += 1) {
    found += `${row.getString(x) || " "}\u0001${row.getFg(x)}\u0001${row.getBg(x)}\u0002`;
  }
  return found;
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

function compareStates(what, at, live, replayed) {
  const [one, other] = [state(live), state(replayed)];
  for (const key of Object.keys(one)) {
    if (JSON.stringify(one[key]) === JSON.stringify(other[key])) continue;
    tell(`${what}: ${key}`, at, one[key], other[key]);
    return;
  }
}

function comparePictures(what, at, live, replayed) {
  const [one, other] = [rowsOf(live), rowsOf(replayed)];
  const y = one.findIndex((row, place) => !same(row, other[place]));
  if (y >= 0) tell(`${what}: row ${y}`, at, text(one[y]), text(other[y]));
  const [from, to] = [live.buffer.active, replayed.buffer.active];
  const places = [from.cursorX, from.cursorY, to.cursorX, to.cursorY];
  if (y < 0 && (places[0] !== places[2] || places[1] !== places[3])) {
    tell(`${what}: cursor`, at, places.slice(0, 2), places.slice(2));
  }
}

const stops = job.stops.map(([at, repainted]) => {
  const there = terminal();
  write(there, stream.subarray(0, at));
  return { at, repainted, there };
});
const live = terminal();
const fresh = terminal();
let fed = 0;
for (const cut of job.cuts) {
  write(live, stream.subarray(fed, cut.at));
  fed = cut.at;
  write(fresh, Buffer.from(cut.preamble, "base64"));
  compareStates("state", cut.at, live, fresh);
  if (!cut.rest) continue;
  const lost = terminal();
  write(lost, stream.subarray(0, cut.at));
  wipe(lost);
  let shown = cut.at;
  for (const { at, repainted, there } of stops.filter((stop) => stop.at > cut.at)) {
    const more = stream.subarray(shown, at);
    shown = at;
    write(lost, more);
    write(fresh, more);
    pictures += 1;
    comparePictures(`picture at ${at}`, cut.at, lost, fresh);
    compareStates(`state at ${at}`, cut.at, lost, fresh);
    if (repainted < cut.at) continue;
    whole += 1;
    comparePictures(`whole picture at ${at}`, cut.at, there, fresh);
  }
  lost.dispose();
}
const [early, late] = [terminal(), terminal()];
fed = 0;
for (const [at, more] of job.late) {
  write(early, stream.subarray(fed, at));
  fed = at;
  write(late, Buffer.from(more, "base64"));
  comparePictures("late viewer", at, early, late);
  compareStates("late viewer", at, early, late);
}
const counts = { cuts: job.cuts.length, pictures, whole, late: job.late.length };
console.log(JSON.stringify({ differences, ...counts }));
