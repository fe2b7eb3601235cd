/** Plays one recording: speed, seeking, search, and jumping from command to command. */

import { Terminal } from '@xterm/xterm';
import { useEffect, useMemo, useRef, useState } from 'react';
import { t } from '../../language/t';
import { useStore } from '../../state/store';
import { shade } from '../../state/theme';
import { CastClock, chapters, findIn, type Cast, type CastEvent } from '../../terminal/screen/cast';
import { TERMINAL_FONT } from '../../terminal/screen/fonts';
import { colours } from '../../terminal/screen/colours';
import { Icon } from '../parts/icons';
import '../../styles/recordings.css';

interface PlayerProps {
  readonly cast: Cast;
  /** Seconds to begin at. */
  readonly start: number;
}

const SPEEDS = [0.5, 1, 2, 4, 8];
const FONT_PX = 13;
const FONT_MIN_PX = 5;
/** What came due is shown this often. */
const SHOWN_MS = 100;

export function Player({ cast, start }: PlayerProps) {
  const host = useRef<HTMLDivElement>(null);
  const term = useRef<Terminal | null>(null);
  const clock = useMemo(() => new CastClock(cast), [cast]);
  const marks = useMemo(() => chapters(cast), [cast]);
  const [playing, setPlaying] = useState(true);
  const [at, setAt] = useState(start);
  const [speed, setSpeed] = useState(1);
  const colour = useStore(shade);

  useEffect(() => {
    if (host.current === null) return;
    const made = new Terminal({
      cols: cast.cols,
      rows: cast.rows,
      fontFamily: TERMINAL_FONT,
      fontSize: FONT_PX,
      disableStdin: true,
      allowProposedApi: true,
      theme: colours[shade.get()],
      // Links of a recording are not to be followed.
      linkHandler: { activate: () => undefined },
    });
    made.open(host.current);
    const fits = (): void => fit(made, host.current);
    fits();
    made.onResize(fits);
    const observer = new ResizeObserver(fits);
    observer.observe(host.current);
    term.current = made;
    show(made, clock.seek(start));
    return () => {
      term.current = null;
      observer.disconnect();
      made.dispose();
    };
  }, [cast, clock, start]);
  useEffect(() => {
    if (term.current !== null) term.current.options.theme = colours[colour];
  }, [colour]);

  useEffect(() => {
    if (!playing) return;
    let before = performance.now();
    const timer = window.setInterval(() => {
      const now = performance.now();
      if (term.current !== null) show(term.current, clock.pass((now - before) / 1000));
      before = now;
      setAt(clock.at);
      if (clock.ended) setPlaying(false);
    }, SHOWN_MS);
    return () => window.clearInterval(timer);
  }, [playing, clock]);

  function seek(to: number): void {
    term.current?.reset();
    term.current?.resize(cast.cols, cast.rows);
    if (term.current !== null) show(term.current, clock.seek(to));
    setAt(clock.at);
  }

  return (
    <div className="player">
      <div className="player-bar">
        <button
          type="button"
          className="button-icon"
          aria-label={playing ? t`Pause the recording` : t`Play the recording`}
          onClick={() => {
            if (!playing && clock.ended) seek(0);
            setPlaying(!playing);
          }}
        >
          <Icon name={playing ? 'pause' : 'start'} />
        </button>
        <input
          type="range"
          aria-label={t`Moment`}
          aria-valuetext={clockWords(at)}
          min={0}
          max={cast.length}
          step={0.1}
          value={at}
          onChange={(event) => seek(Number(event.target.value))}
        />
        <span className="player-time">
          {clockWords(at)} / {clockWords(cast.length)}
        </span>
        <select
          aria-label={t`Speed`}
          value={speed}
          onChange={(event) => {
            clock.play(Number(event.target.value));
            setSpeed(Number(event.target.value));
          }}
        >
          {SPEEDS.map((one) => (
            <option key={one} value={one}>
              {one}×
            </option>
          ))}
        </select>
      </div>
      <div className="player-bar">
        <Find cast={cast} at={at} onSeek={seek} />
        {marks.length > 0 && (
          <select
            aria-label={t`Jump to a command`}
            value=""
            onChange={(event) => seek(Number(event.target.value))}
          >
            <option value="" disabled>
              {t`Jump to a command`}
            </option>
            {marks.map((mark, i) => (
              <option key={i} value={mark.at}>
                {clockWords(mark.at)} {mark.words.slice(0, 80)}
              </option>
            ))}
          </select>
        )}
      </div>
      <div className="player-screen" ref={host} role="img" aria-label={t`The recorded terminal`} />
    </div>
  );
}

interface FindProps {
  readonly cast: Cast;
  readonly at: number;
  readonly onSeek: (at: number) => void;
}

function Find({ cast, at, onSeek }: FindProps) {
  const [words, setWords] = useState('');
  const [none, setNone] = useState(false);
  return (
    <form
      className="player-find"
      role="search"
      aria-label={t`This recording`}
      onSubmit={(event) => {
        event.preventDefault();
        const found = findIn(cast, words);
        const next = found.find((moment) => moment > at + 0.05) ?? found[0];
        setNone(next === undefined);
        if (next !== undefined) onSeek(next);
      }}
    >
      <Icon name="search" />
      <input
        aria-label={t`Find in this recording`}
        placeholder={t`Find`}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <span role="status">{none ? t`none` : ''}</span>
    </form>
  );
}

/** The largest letters, up to the usual ones, with which whole lines are in view. */
function fit(term: Terminal, host: HTMLElement | null): void {
  const screen = host?.querySelector<HTMLElement>('.xterm-screen');
  if (host == null || screen == null || screen.offsetWidth === 0) return;
  const now = term.options.fontSize ?? FONT_PX;
  const { paddingLeft, paddingRight } = getComputedStyle(host);
  const room = host.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  const px = Math.floor((now * room * 2) / screen.offsetWidth) / 2;
  term.options.fontSize = Math.min(FONT_PX, Math.max(FONT_MIN_PX, px));
}

function show(term: Terminal, events: readonly CastEvent[]): void {
  let text = '';
  for (const { code, text: data } of events) {
    if (code === 'o') text += data;
    const size = code === 'r' ? /^(\d{1,4})x(\d{1,4})$/.exec(data) : null;
    if (size === null) continue;
    term.write(text);
    text = '';
    const [cols, rows] = [Number(size[1]), Number(size[2])];
    // Through the write queue: what came before was laid out for the old size.
    term.write('', () => term.resize(Math.max(2, cols), Math.max(1, rows)));
  }
  if (text !== '') term.write(text);
}

function clockWords(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
