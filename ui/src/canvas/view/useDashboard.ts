/** A dashboard that is open: its document, and the canvas's state in this window. */

import { useCallback, useEffect, useMemo, useState } from 'react';
import { api } from '../../api/client';
import type { Me } from '../../api/types';
import { useAnswer } from '../../components/parts/useAnswer';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { Store, useStore } from '../../state/store';
import { MOST_IDS, type Peer } from '../presence/presence';
import { dashboardsApi, type Dashboard } from '../list/api';
import { openSession, type Session } from '../sync/session';
import type { DocumentStatus } from '../sync/connection';
import type { Person } from '../sync/wire';
import { team } from '../../state/team/team';
import { Stage } from './stage';
import type { Viewport } from './viewport';

export interface OpenDashboard {
  readonly session: Session;
  readonly stage: Stage;
  readonly status: DocumentStatus;
  readonly peers: readonly Peer[];
  readonly dashboard: Dashboard | null;
  readonly people: readonly Person[];
  readonly me: string;
  /** Whether this person came by a link. */
  readonly guest: boolean;
  readonly reload: () => void;
}

/** Where this person looked last, by dashboard: coming back shows the same. */
const lastViews = new Map<string, Viewport>();

export function lastView(id: string): Viewport | null {
  return lastViews.get(id) ?? null;
}

const NO_STATUS = new Store<DocumentStatus | null>(null);
const NO_PEERS = new Store<readonly Peer[]>([]);
const myself = (): ReturnType<typeof api.me> => api.me();

export function useDashboard(id: string): OpenDashboard | null {
  const { value: me } = useAnswer(myself, 'me');
  const [row, setRow, reload] = useRow(id);
  const onRenamed = useCallback(
    (name: string) => setRow((now) => (now === null ? null : { ...now, name })),
    [setRow],
  );
  const session = useSession(id, onRenamed);
  const status = useStore<DocumentStatus | null>(session?.status ?? NO_STATUS);
  const peers = useStore(session?.peers ?? NO_PEERS);
  const edits = mayEdit(status);
  const stage = useStage(id, session, me, edits);
  const people = usePeople(status, peers, me);
  usePresence(session, stage);
  if (session === null || stage === null || status === null || me === null) return null;
  const guest = me.guest !== null;
  return { session, stage, status, peers, people, dashboard: row, me: me.id, guest, reload };
}

/** Everybody who may be given a todo and be mentioned: the team, and who is here. */
function usePeople(
  status: DocumentStatus | null,
  peers: readonly Peer[],
  me: Person | null,
): readonly Person[] {
  const members = useStore(team)?.members;
  const here = status?.people;
  return useMemo(() => {
    const all = new Map((here ?? []).map((one) => [one.id, one]));
    for (const { id, name } of me === null ? peers : [...peers, me])
      if (!all.has(id)) all.set(id, { id, name });
    for (const { member_id: id, name, kind } of members ?? [])
      if (kind === 'adm') all.set(id, { id, name });
    return [...all.values()].sort((a, b) => a.name.localeCompare(b.name));
  }, [here, peers, members, me]);
}

function mayEdit(status: DocumentStatus | null): boolean {
  return status?.role === 'owner' || status?.role === 'editor';
}

/** The row of a dashboard: its name and this person's role. */
function useRow(id: string) {
  const [row, setRow] = useState<Dashboard | null>(null);
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let gone = false;
    dashboardsApi.get(id).then(
      (found) => {
        if (!gone) setRow(found);
      },
      // The connection says why.
      () => undefined,
    );
    return () => {
      gone = true;
    };
  }, [id, asked]);
  const reload = useCallback(() => setAsked((now) => now + 1), []);
  return [row, setRow, reload] as const;
}

function useSession(id: string, onRenamed: (name: string) => void): Session | null {
  const [held] = useState(() => new Store<Session | null>(null));
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const made = openSession(id, {
      onRefused: (_, message) => {
        notify(t`The last change was not kept: ${message || t`the server refused it.`}`, 'bad');
        // What was refused is in this document for good: a new one has what the server has.
        setTurn((now) => now + 1);
      },
      onRenamed,
    });
    held.set(made);
    return () => {
      held.set(null);
      made.close();
    };
  }, [id, turn, held, onRenamed]);
  return useStore(held);
}

function useStage(
  id: string,
  session: Session | null,
  me: Me | null,
  edits: boolean,
): Stage | null {
  const author = me?.id ?? null;
  const guest = (me?.guest ?? null) !== null;
  const stage = useMemo(() => {
    if (session === null || author === null) return null;
    const moves = !window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    const made = new Stage(session.board, author, edits, moves);
    made.guest = guest;
    const view = lastViews.get(id);
    if (view !== undefined) made.look(view, true);
    return made;
  }, [id, session, author, guest, edits]);
  useEffect(() => {
    if (stage === null) return;
    const stop = stage.view.subscribe(() => lastViews.set(id, stage.view.get()));
    return () => {
      stop();
      stage.dispose();
    };
  }, [id, stage]);
  return stage;
}

/** Says to others what this person does here. */
function usePresence(session: Session | null, stage: Stage | null): void {
  useEffect(() => {
    if (session === null || stage === null) return;
    const whole = (value: number): number => Math.round(value);
    const say = (): void => {
      const [cursor, drag, sees] = [stage.cursor.get(), stage.drag.get(), stage.window];
      session.say({
        cursor: cursor === null ? null : { x: whole(cursor.x), y: whole(cursor.y) },
        selection: stage.chosen.get().slice(0, MOST_IDS),
        sees: { x: whole(sees.x), y: whole(sees.y), w: whole(sees.w), h: whole(sees.h) },
        inside: stage.inside.get(),
        drag:
          drag === null
            ? null
            : { ids: drag.ids.slice(0, MOST_IDS), dx: whole(drag.dx), dy: whole(drag.dy) },
      });
    };
    say();
    const { cursor, chosen, view, size, inside, drag } = stage;
    const stops = [cursor, chosen, view, size, inside, drag].map((store) => store.subscribe(say));
    return () => stops.forEach((stop) => stop());
  }, [session, stage]);
}
