/**
 * A plot over time, drawn by ourselves: lines or bars, with the numbers under the pointer, by the
 * arrow keys, and all of them in a table.
 */

import { useId, useRef, useState, type KeyboardEvent } from 'react';
import { t } from '../../language/t';
import {
  areaPath,
  heightOf,
  highest,
  linePath,
  nearest,
  niceTop,
  placeOf,
  type Frame,
  type Values,
} from '../../state/overview/plot';
import { useSize } from './useSize';

export interface Series {
  readonly words: string;
  readonly values: Values;
}

interface PlotProps {
  readonly title: string;
  /** One sentence: what the plot says, for whoever does not see it. */
  readonly summary: string;
  readonly series: readonly Series[];
  /** What each point is called. */
  readonly labels: readonly string[];
  readonly shape: 'lines' | 'bars';
  readonly base?: 10 | 1024;
  readonly words: (value: number) => string;
}

const HEIGHT = 168;

export function Plot(props: PlotProps) {
  const { title, summary, series, labels, words, base = 10 } = props;
  const [at, setAt] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const titleId = useId();
  const stacked = props.shape === 'bars' ? sums(series) : series;
  const top = niceTop(highest(stacked.map(({ values }) => values)), base);
  const frame: Frame = { width, height: HEIGHT, left: 52, right: 8, top: 10, bottom: 22 };
  const shown = at === null || at >= labels.length ? null : at;

  function onKey(event: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || labels.length === 0) return;
    event.preventDefault();
    const from = shown ?? (step > 0 ? -1 : labels.length);
    setAt(Math.min(labels.length - 1, Math.max(0, from + step)));
  }

  return (
    <figure className="plot" aria-labelledby={titleId}>
      <figcaption className="plot-head">
        <span id={titleId} className="plot-title">
          {title}
        </span>
        <span className="plot-keys">
          {series.map((one, index) => (
            <span key={one.words} className="plot-key">
              <span className={`plot-swatch plot-fill-${index}`} aria-hidden="true" />
              {one.words}
              {shown !== null && <strong>{valueWords(one.values[shown], words)}</strong>}
            </span>
          ))}
        </span>
      </figcaption>
      <div
        ref={box}
        className="plot-box"
        tabIndex={0}
        role="img"
        aria-label={t`${title}. ${summary} Left and right show single values.`}
        onKeyDown={onKey}
        onBlur={() => setAt(null)}
        onPointerMove={(event) => {
          const left = event.currentTarget.getBoundingClientRect().left;
          setAt(nearest(event.clientX - left, labels.length, frame));
        }}
        onPointerLeave={() => setAt(null)}
      >
        {width > 0 && (
          <svg width={width} height={HEIGHT} aria-hidden="true">
            <Scale {...{ top, frame, labels, words }} />
            {props.shape === 'lines' ? (
              <Lines {...{ series, top, frame }} />
            ) : (
              <Bars {...{ series: stacked, top, frame }} />
            )}
            {shown !== null && (
              <line
                className="plot-cursor"
                x1={placeOf(shown, labels.length, frame)}
                x2={placeOf(shown, labels.length, frame)}
                y1={frame.top}
                y2={HEIGHT - frame.bottom}
              />
            )}
          </svg>
        )}
      </div>
      <p className="plot-at" aria-live="polite">
        {shown === null ? '\u00a0' : labels[shown]}
        {shown !== null && (
          <span className="spoken">
            {series.map((one) => ` ${one.words}: ${valueWords(one.values[shown], words)}.`)}
          </span>
        )}
      </p>
      <PlotTable {...{ title, series, labels, words }} />
    </figure>
  );
}

function valueWords(value: number | null | undefined, words: (value: number) => string): string {
  return value === null || value === undefined ? t`not watched` : words(value);
}

/** Each series on top of those after it; the last one stands on the floor. */
function sums(series: readonly Series[]): readonly Series[] {
  return series.map((one, index) => ({
    ...one,
    values: one.values.map((value, place) =>
      series.slice(index + 1).reduce((sum, other) => sum + (other.values[place] ?? 0), value ?? 0),
    ),
  }));
}

interface PartProps {
  readonly series: readonly Series[];
  readonly top: number;
  readonly frame: Frame;
}

function Lines({ series, top, frame }: PartProps) {
  return (
    <>
      {series.map(({ words, values }, index) => (
        <g key={words} className={`plot-series-${index}`}>
          <path className="plot-area" d={areaPath(values, top, frame)} />
          <path className="plot-line" d={linePath(values, top, frame)} />
        </g>
      ))}
    </>
  );
}

function Bars({ series, top, frame }: PartProps) {
  const count = series[0]?.values.length ?? 0;
  const room = frame.width - frame.left - frame.right;
  // Bars that are too thin for gaps between them touch: else the gaps would be all one sees.
  const step = room / Math.max(1, count);
  const wide = step < 4 ? step + 0.5 : Math.min(18, step * 0.7);
  return (
    <>
      {series.map(({ words, values }, index) => (
        <path
          key={words}
          className={`plot-bar plot-fill-${index}`}
          d={values
            .map((value, place) => {
              if (value === null || value <= 0) return '';
              const x = Math.min(
                frame.width - frame.right - wide,
                Math.max(frame.left, placeOf(place, count, frame) - wide / 2),
              );
              const y = heightOf(value, top, frame);
              return `M${x.toFixed(1)} ${y.toFixed(1)}h${wide.toFixed(1)}V${frame.height - frame.bottom}h-${wide.toFixed(1)}Z`;
            })
            .join('')}
        />
      ))}
    </>
  );
}

interface ScaleProps {
  readonly top: number;
  readonly frame: Frame;
  readonly labels: readonly string[];
  readonly words: (value: number) => string;
}

/** The lines behind the plot, and what they stand for. */
function Scale({ top, frame, labels, words }: ScaleProps) {
  const steps = top === 1 ? [0, 1] : [0, top / 2, top];
  const room = frame.width - frame.left - frame.right;
  const ends = room < 260 ? [0] : [0, Math.floor((labels.length - 1) / 2)];
  return (
    <g className="plot-scale">
      {steps.map((value) => (
        <g key={value}>
          <line
            x1={frame.left}
            x2={frame.width - frame.right}
            y1={heightOf(value, top, frame)}
            y2={heightOf(value, top, frame)}
          />
          <text x={frame.left - 8} y={heightOf(value, top, frame) + 4} textAnchor="end">
            {words(value)}
          </text>
        </g>
      ))}
      {[...new Set([...ends, labels.length - 1])].map((index) => (
        <text
          key={index}
          x={placeOf(index, labels.length, frame)}
          y={frame.height - 5}
          textAnchor={index === 0 ? 'start' : index === labels.length - 1 ? 'end' : 'middle'}
        >
          {labels[index]}
        </text>
      ))}
    </g>
  );
}

interface TableProps {
  readonly title: string;
  readonly series: readonly Series[];
  readonly labels: readonly string[];
  readonly words: (value: number) => string;
}

function PlotTable({ title, series, labels, words }: TableProps) {
  const [open, setOpen] = useState(false);
  return (
    <details className="plot-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t`Numbers`}</summary>
      {open && (
        <div className="plot-rows" tabIndex={0} role="region" aria-label={t`Numbers of ${title}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t`Time`}</th>
                {series.map((one) => (
                  <th key={one.words} scope="col">
                    {one.words}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {labels.map((label, index) => (
                <tr key={index}>
                  <th scope="row">{label}</th>
                  {series.map((one) => (
                    <td key={one.words}>{valueWords(one.values[index], words)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
