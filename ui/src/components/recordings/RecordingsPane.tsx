/** A sandbox's recordings, a search through them and all terminals, and the player. */

import { useCallback, useEffect, useState } from 'react';
import { api } from '../../api/client';
import type { Found, RecordingInfo } from '../../api/types';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { duration } from '../../state/clock';
import { go } from '../../state/route';
import { useRights } from '../../state/team/useRights';
import { readCast, type Cast } from '../../terminal/screen/cast';
import { Confirm } from '../parts/Dialog';
import { Icon } from '../parts/icons';
import { ShareDialog } from '../people/ShareDialog';
import { Player } from './Player';
import { panelOf } from '../parts/TabList';
import { sizeWords } from '../parts/words';

interface Playing {
  readonly id: string;
  readonly cast: Cast;
  readonly start: number;
}

export function RecordingsPane({ sandboxId }: { readonly sandboxId: string }) {
  const { works, manages } = useRights(sandboxId);
  const [list, setList] = useState<readonly RecordingInfo[] | null>(null);
  const [playing, setPlaying] = useState<Playing | null>(null);
  const [sharing, setSharing] = useState<RecordingInfo | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);

  const load = useCallback(() => {
    api.recordings(sandboxId).then(setList, (reason: unknown) => {
      setList([]);
      notifyFailure(t`The recordings could not be listed`)(reason);
    });
  }, [sandboxId]);
  useEffect(load, [load]);

  async function play(id: string, start: number): Promise<void> {
    try {
      const cast = readCast(await api.recording(sandboxId, id));
      if (cast === null) notify(t`That file is no recording this page can play.`, 'bad');
      else setPlaying({ id, cast, start });
    } catch (reason) {
      notifyFailure(t`The recording could not be loaded`)(reason);
    }
  }

  async function remove(id: string): Promise<void> {
    try {
      await api.removeRecording(sandboxId, id);
      if (playing?.id === id) setPlaying(null);
      load();
    } catch (reason) {
      notifyFailure(t`Not removed`)(reason);
    }
  }

  return (
    <div className="log recordings" {...panelOf('recordings')}>
      <Search sandboxId={sandboxId} onPlay={(id, at) => void play(id, at)} />
      {playing !== null && (
        <Player key={`${playing.id} ${playing.start}`} cast={playing.cast} start={playing.start} />
      )}
      {list?.length === 0 && (
        <p className="quiet">
          {t`No recordings. Nothing of a terminal is written down unless somebody asks for it there.`}
        </p>
      )}
      <ul className="lines" aria-label={t`Recordings`}>
        {(list ?? []).map((one) => (
          <li key={one.recording_id}>
            <span className="lines-words">
              {one.name || one.recording_id}
              {one.state === 'recording' && (
                <span className="rec rec-on">{t`still recording`}</span>
              )}
              <span className="quiet">
                {t`${new Date(one.started_at).toLocaleString()} · ${duration(one.seconds)} · ${sizeWords(one.bytes)} · by ${one.by}`}
              </span>
            </span>
            <button
              type="button"
              className="button button-small"
              onClick={() => void play(one.recording_id, 0)}
            >
              <Icon name="start" />
              {t`Play`}
            </button>
            <button
              type="button"
              className="button button-small"
              onClick={() => void save(sandboxId, one)}
            >
              {t`Download`}
            </button>
            {manages && (
              <button type="button" className="button button-small" onClick={() => setSharing(one)}>
                <Icon name="share" />
                {t`Share`}
              </button>
            )}
            {works && (
              <button
                type="button"
                className="button button-small button-destroy"
                onClick={() => setRemoving(one.recording_id)}
              >
                {t`Remove`}
              </button>
            )}
          </li>
        ))}
      </ul>
      {sharing !== null && (
        <ShareDialog sandboxId={sandboxId} terminal={sharing} onClose={() => setSharing(null)} />
      )}
      {removing !== null && (
        <Confirm
          title={t`Remove this recording?`}
          action={t`Remove`}
          danger
          onClose={() => setRemoving(null)}
          onConfirm={() => void remove(removing)}
        >
          <p>{t`It is deleted from the disk for good.`}</p>
        </Confirm>
      )}
    </div>
  );
}

/** Saves a recording's file, as any player of asciicasts reads it. */
async function save(sandboxId: string, one: RecordingInfo): Promise<void> {
  try {
    const text = await api.recording(sandboxId, one.recording_id);
    const address = URL.createObjectURL(new Blob([text], { type: 'application/x-asciicast' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = `${one.recording_id}.cast`;
    link.click();
    // The browser reads it after this turn.
    window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
  } catch (reason) {
    notifyFailure(t`The recording could not be downloaded`)(reason);
  }
}

interface SearchProps {
  readonly sandboxId: string;
  readonly onPlay: (recording: string, at: number) => void;
}

function Search({ sandboxId, onPlay }: SearchProps) {
  const [words, setWords] = useState('');
  const [found, setFound] = useState<readonly Found[] | null>(null);

  return (
    <>
      <form
        className="allow"
        role="search"
        aria-label={t`All terminals and recordings`}
        onSubmit={(event) => {
          event.preventDefault();
          if (words.trim() === '') return;
          api.search(sandboxId, words).then(setFound, notifyFailure(t`The search failed`));
        }}
      >
        <input
          type="search"
          aria-label={t`Search all terminals and recordings`}
          placeholder={t`Search all terminals and recordings`}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <button type="submit" className="button" disabled={words.trim() === ''}>
          {t`Search`}
        </button>
      </form>
      {found !== null && (
        <ul className="lines lines-scroll" aria-label={t`Found`}>
          {found.length === 0 && <li className="quiet">{t`Nothing was found.`}</li>}
          {found.map((match, i) => (
            <li key={i}>
              <span className="lines-words">
                <code>{match.text}</code>
                <span className="quiet">
                  {match.name} · {match.recording_id === null ? t`terminal` : t`recording`}
                  {match.command !== null && match.command !== '' && ` · ${match.command}`}
                </span>
              </span>
              <button
                type="button"
                className="button button-small"
                onClick={() => {
                  if (match.recording_id === null) go(sandboxId, match.terminal_id);
                  else onPlay(match.recording_id, Math.max(0, (match.seconds ?? 0) - 1));
                }}
              >
                {t`Show`}
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
