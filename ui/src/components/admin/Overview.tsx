/** What runs, and what was used over time. */

import { useEffect, useState } from 'react';
import { overviewApi, type Usage } from '../../api/overview';
import { spoken, t, worded } from '../../language/t';
import { countWords } from '../../state/overview/plot';
import { connected } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { sizeWords } from '../parts/words';
import { Segments } from '../parts/Segments';
import { Plot, type Series } from './Plot';
import { Failed } from './Failed';

const RANGES = worded(
  () =>
    [
      { value: 'day', words: t`Day`, hours: 24, bucket: '5m' },
      { value: 'week', words: t`Week`, hours: 7 * 24, bucket: '1h' },
      { value: 'month', words: t`Month`, hours: 30 * 24, bucket: '1d' },
      { value: 'quarter', words: t`3 months`, hours: 92 * 24, bucket: '1d' },
    ] as const,
);
type Range = ReturnType<typeof RANGES>[number]['value'];

const AGAIN_MS = 10_000;

interface Loaded {
  readonly range: Range;
  readonly usage: Usage;
}

/** The usage of a range, fetched again while the page is in view. */
function useUsage(organization: string, range: Range) {
  const [found, setFound] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  const live = useStore(connected);
  useEffect(() => {
    let gone = false;
    const { hours, bucket } = RANGES().find(({ value }) => value === range) ?? RANGES()[0];
    const load = (): void => {
      if (document.visibilityState === 'hidden') return;
      overviewApi.usage(organization, hours, bucket).then(
        (usage) => {
          if (gone) return;
          setFound({ range, usage });
          setProblem(null);
        },
        (reason: unknown) => {
          if (!gone) setProblem(reason instanceof Error ? reason.message : String(reason));
        },
      );
    };
    load();
    const timer = window.setInterval(load, AGAIN_MS);
    return () => {
      gone = true;
      window.clearInterval(timer);
    };
    // `live`: what was missed while the connection was cut is fetched at once.
  }, [organization, range, attempt, live]);
  const retry = (): void => setAttempt((now) => now + 1);
  return { usage: found?.range === range ? found.usage : null, problem, retry };
}

export function Overview({ organization }: { readonly organization: string }) {
  const [range, setRange] = useState<Range>('day');
  const { usage, problem, retry } = useUsage(organization, range);
  return (
    <>
      <Segments legend={t`Time`} choices={RANGES()} chosen={range} onChoose={setRange} />
      {problem !== null && <Failed what={t`Usage`} problem={problem} onRetry={retry} />}
      {usage === null && problem === null && <Skeleton />}
      {usage !== null && <Figures usage={usage} />}
      {usage !== null && <Plots usage={usage} />}
    </>
  );
}

function Skeleton() {
  return (
    <div className="skeleton admin-skeleton" aria-label={t`Loading`}>
      <span />
      <span />
      <span />
    </div>
  );
}

function Figures({ usage }: { readonly usage: Usage }) {
  // Of the points the newest has the highest of its time so far.
  const { now } = usage;
  const { tokens_in: read, tokens_out: written, refused } = usage.counts;
  const { bytes_in: sent, bytes_out: received } = usage.counts;
  const rows = [
    { words: t`Running sandboxes`, value: String(now.sandboxes) },
    { words: t`Agents at work`, value: t`${now.working} of ${now.agents}` },
    { words: t`Open sessions`, value: String(now.sessions) },
    { words: t`Tokens`, value: countWords(read + written) },
    { words: t`Through connections`, value: sizeWords(sent + received) },
    { words: t`Refused requests`, value: countWords(refused) },
  ];
  return (
    <dl className="figures">
      {rows.map(({ words, value }) => (
        <div key={words} className="figure">
          <dt>{words}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Plots({ usage }: { readonly usage: Usage }) {
  const { points, highest, counts, bucket_seconds: seconds } = usage;
  const labels = points.map(({ at }) => labelOf(at, seconds));
  const gauge = (words: string, name: 'sandboxes' | 'working' | 'agents'): Series => ({
    words,
    values: points.map(({ standing }) => standing?.[name] ?? null),
  });
  const sum = (words: string, name: keyof typeof counts): Series => ({
    words,
    values: points.map((one) => one.counts[name]),
  });
  const plain = (value: number): string => String(Math.round(value * 10) / 10);
  return (
    <div className="plots">
      <Plot
        title={t`Running sandboxes`}
        summary={t`At most ${highest.sandboxes} at once.`}
        series={[gauge(t`Sandboxes`, 'sandboxes')]}
        shape="lines"
        {...{ labels, words: plain }}
      />
      <Plot
        title={t`Agents`}
        summary={t`At most ${highest.working} at work, of ${highest.agents}.`}
        series={[gauge(t`There`, 'agents'), gauge(t`At work`, 'working')]}
        shape="lines"
        {...{ labels, words: plain }}
      />
      <Plot
        title={t`Tokens`}
        summary={t`${countWords(counts.tokens_in)} read and ${countWords(counts.tokens_out)} written.`}
        series={[sum(t`Read`, 'tokens_in'), sum(t`Written`, 'tokens_out')]}
        shape="bars"
        {...{ labels, words: countWords }}
      />
      <Plot
        title={t`Door traffic`}
        summary={t`${sizeWords(counts.bytes_in)} sent and ${sizeWords(counts.bytes_out)} received.`}
        series={[sum(t`Sent`, 'bytes_in'), sum(t`Received`, 'bytes_out')]}
        shape="bars"
        base={1024}
        {...{ labels, words: (value: number) => sizeWords(Math.round(value)) }}
      />
    </div>
  );
}

/** A point's time in the reader's own zone: the hour, the day and hour, or the day. */
function labelOf(at: string, seconds: number): string {
  const day = { month: 'short', day: 'numeric' } as const;
  const hour = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  if (seconds >= 86_400) return new Date(at).toLocaleDateString(spoken(), day);
  const form = seconds >= 3_600 ? { ...day, ...hour } : hour;
  return new Date(at).toLocaleString(spoken(), form);
}
