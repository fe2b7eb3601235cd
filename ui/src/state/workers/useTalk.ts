/** The conversation of a worker, live: its stream, and what its snapshots add. */

import { useCallback, useEffect, useRef, useState } from 'react';
import type { Card } from '../../api/types';
import { questionsOf, type Worker } from '../../api/workers';
import { t } from '../../language/t';
import { answerOf } from './codex-cards';
import { followWorker } from './follow';
import { answerQuestion, Refusal } from './requests';
import { NO_TALK, questionOf, WorkerTalk, type TalkView } from './talk';

/** Of a long stream the end is read first. */
const READ_FIRST = 4_000;
/** What comes within this time is drawn at once: a server sends each event by itself. */
const GATHER_MS = 40;

export interface LiveTalk {
  readonly view: TalkView;
  /** Null until it is known. */
  readonly connected: boolean | null;
  /** Whether earlier events are left out, and may be read. */
  readonly shortened: boolean;
  /** Whether earlier events are no longer kept. */
  readonly stale: boolean;
  readonly readAll: () => void;
  /** What the agent said is deleted up to this number: it is shown no longer. */
  readonly forget: (last: number) => void;
  readonly answer: (card: Card, option?: string, text?: string) => Promise<void>;
}

/** `onMoved` is called when the worker itself may have changed; it is the same at each call. */
export function useTalk(id: string, worker: Worker | null, onMoved: () => void): LiveTalk {
  const [from, setFrom] = useState<number | null>(null);
  const [view, setView] = useState(NO_TALK);
  const [connected, setConnected] = useState<boolean | null>(null);
  const [stale, setStale] = useState(false);
  const talk = useRef(new WorkerTalk());
  const latest = worker?.latest_seq ?? null;
  if (from === null && latest !== null) setFrom(Math.max(0, latest - READ_FIRST));

  useEffect(() => {
    if (from === null) return;
    const mine = new WorkerTalk();
    talk.current = mine;
    let timer: number | undefined;
    let moved = false;
    const draw = (): void => {
      timer = undefined;
      setView(mine.view());
      if (moved) onMoved();
      moved = false;
    };
    const end = followWorker(id, from, {
      onEvents: (events) => {
        for (const event of events) mine.take(event);
        moved ||= events.some(({ type }) => type !== 'worker.event');
        timer ??= window.setTimeout(draw, GATHER_MS);
      },
      onConnect: () => mine.cutOff(),
      onConnection: setConnected,
      onStale: () => setStale(true),
      onGone: onMoved,
    });
    return () => {
      window.clearTimeout(timer);
      end();
    };
  }, [id, from, onMoved]);

  useEffect(() => {
    const questions = worker === null ? null : questionsOf(worker);
    if (worker === null || questions === null) return;
    talk.current.reconcile(questions, worker.latest_seq);
    setView(talk.current.view());
  }, [worker]);

  const answer = useCallback(
    async (card: Card, option?: string, text?: string): Promise<void> => {
      const said = answerOf(card, option, text);
      if (said === null) throw new Error(t`that answer was not offered`);
      const question = questionOf(card);
      try {
        await answerQuestion(id, question, said.result);
        talk.current.close(question, said.accepted ? 'done' : 'declined');
      } catch (reason) {
        // Somebody else was first, or the agent does not wait any more.
        if (reason instanceof Refusal && reason.code === 'conflict') {
          talk.current.close(question, 'done');
        }
        throw reason;
      } finally {
        setView(talk.current.view());
      }
    },
    [id],
  );

  const readAll = useCallback(() => setFrom(0), []);
  const forget = useCallback((last: number) => {
    setView(NO_TALK);
    setStale(true);
    setFrom(last);
  }, []);
  const shortened = from !== null && from > 0;
  return { view, connected, shortened, stale, readAll, forget, answer };
}
