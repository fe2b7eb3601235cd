/** Who changed what on a dashboard, and what it looked like then. */

import { useEffect, useState } from 'react';
import { Dialog } from '../../components/parts/Dialog';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { age, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { around } from '../document/geometry';
import { KIND_WORDS, type Box } from '../document/items';
import type { OpenDashboard } from '../view/useDashboard';
import { dashboardsApi, type HistoryEntry } from './api';

interface HistoryProps {
  readonly id: string;
  readonly open: OpenDashboard;
  readonly onClose: () => void;
}

export function History({ id, open, onClose }: HistoryProps) {
  const now = useStore(tick);
  const [list, setList] = useState<readonly HistoryEntry[] | null>(null);
  const [shown, setShown] = useState<HistoryEntry | null>(null);
  useEffect(() => {
    dashboardsApi.history(id).then(setList, notifyFailure(t`The history could not be loaded`));
  }, [id]);

  return (
    <Dialog title={t`History`} onClose={onClose} wide>
      <div className="past">
        <ul className="past-list" aria-label={t`Changes`}>
          {list === null && <li className="quiet">{t`Loading…`}</li>}
          {list?.length === 0 && <li className="quiet">{t`Nothing has changed yet.`}</li>}
          {list?.map((entry) => (
            <li key={entry.seq}>
              <button
                type="button"
                className="past-entry"
                aria-pressed={entry === shown}
                onClick={() => setShown(entry)}
              >
                <strong>{nameOfActor(entry, open)}</strong>
                <span>{summaryWords(entry.summary)}</span>
                <time dateTime={entry.at} title={new Date(entry.at).toLocaleString()}>
                  {age(entry.at, now)}
                </time>
              </button>
            </li>
          ))}
        </ul>
        <div className="past-then">
          {shown === null ? (
            <p className="quiet">{t`Choose a moment to see the dashboard as it was then.`}</p>
          ) : (
            <Then key={shown.seq} id={id} seq={shown.seq} />
          )}
        </div>
      </div>
    </Dialog>
  );
}

function nameOfActor({ actor }: HistoryEntry, open: OpenDashboard): string {
  return open.people.find(({ id }) => id === actor)?.name ?? actor;
}

/** `added 2 notes · changed 1 todo`. Pure. */
export function summaryWords(summary: HistoryEntry['summary']): string {
  const parts = Object.entries(summary).map(([act, kinds]) => {
    const counts = Object.entries(kinds)
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => `${count} ${(KIND_WORDS()[kind] ?? kind).toLowerCase()}`);
    return counts.length === 0 ? '' : `${act} ${counts.join(', ')}`;
  });
  return parts.filter((part) => part !== '').join(' · ') || 'changed';
}

type Past = Readonly<Record<string, unknown>>;

/** The plane of that moment, small: nothing of it can be changed. */
function Then({ id, seq }: { readonly id: string; readonly seq: number }) {
  const [items, setItems] = useState<readonly Past[] | null>(null);
  useEffect(() => {
    dashboardsApi.then(id, seq).then(setItems, notifyFailure(t`That moment could not be loaded`));
  }, [id, seq]);
  if (items === null) return <p className="quiet">{t`Loading…`}</p>;
  const boxes = items.map((item) => ({ item, box: boxOf(item) }));
  const all = around(boxes.map(({ box }) => box));
  if (all === null) return <p className="quiet">{t`It was empty then.`}</p>;
  return (
    <svg
      className="past-plane"
      viewBox={`${all.x - 20} ${all.y - 20} ${all.w + 40} ${all.h + 40}`}
      role="img"
      aria-label={t`${items.length} items`}
    >
      {boxes.map(({ item, box }, at) => (
        <g key={at}>
          <rect
            className={`mini mini-${wordOf(item['kind']) === 'note' ? wordOf(item['colour']) : wordOf(item['kind'])}`}
            rx="6"
            x={box.x}
            y={box.y}
            width={box.w}
            height={box.h}
          />
          <foreignObject x={box.x} y={box.y} width={box.w} height={box.h}>
            <p className="past-words">{textOf(item)}</p>
          </foreignObject>
        </g>
      ))}
    </svg>
  );
}

function boxOf(item: Past): Box {
  const side = (key: string, least: number): number => {
    const value = item[key];
    return typeof value === 'number' && Number.isFinite(value) ? value : least;
  };
  return { x: side('x', 0), y: side('y', 0), w: side('w', 100), h: side('h', 100) };
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** What an item said: its text may be plain, or the parts of rich text. */
function textOf(item: Past): string {
  const { text } = item;
  const words = Array.isArray(text)
    ? text.map((part: unknown) => wordOf((part as Past | null)?.['insert'])).join('')
    : wordOf(text);
  const kind = wordOf(item['kind']);
  return wordOf(item['title']) || words || (KIND_WORDS()[kind] ?? kind);
}
