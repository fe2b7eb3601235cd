/** Share links of a sandbox: make one, see which are alive, revoke. */

import { useEffect, useState } from 'react';
import { api } from '../../api/client';
import type { MadeShare, RecordingInfo, Share, Terminal } from '../../api/types';
import { t, worded } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { login, rename } from '../../state/login';
import { useStore } from '../../state/store';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';
import { LocalOnly, OnceShown } from '../parts/OnceShown';
import { Segments } from '../parts/Segments';
import { terminalWords } from '../parts/words';

interface ShareDialogProps {
  readonly sandboxId: string;
  /** A terminal is shared, or a recording. */
  readonly terminal: Terminal | RecordingInfo;
  readonly onClose: () => void;
}

const ROLES = worded<readonly { value: Share['role']; words: string }[]>(() => [
  { value: 'viewer', words: t`Watch` },
  { value: 'controller', words: t`Watch and ask to type` },
]);
/** The name of somebody who chose none. */
const UNNAMED = 'person';
const MAX_NAME = 64;
const TTLS = worded(() => [
  { value: '15m', words: t`15 minutes` },
  { value: '1h', words: t`1 hour` },
  { value: '8h', words: t`8 hours` },
  { value: '7d', words: t`7 days` },
]);

export function ShareDialog({ sandboxId, terminal, onClose }: ShareDialogProps) {
  const recording = 'recording_id' in terminal ? terminal.recording_id : null;
  const [role, setRole] = useState<Share['role']>('viewer');
  const [ttl, setTtl] = useState('1h');
  const [all, setAll] = useState(false);
  const [made, setMade] = useState<MadeShare | null>(null);
  const [list, setList] = useState<readonly Share[]>([]);
  const [busy, setBusy] = useState(false);
  const who = useStore(login);
  const known = who.is === 'in' && who.name !== UNNAMED ? who.name : '';
  const [name, setName] = useState(known);

  useEffect(() => {
    api.shares(sandboxId).then(setList, notifyFailure(t`The links could not be listed`));
  }, [sandboxId]);

  async function make(): Promise<void> {
    setBusy(true);
    try {
      if (name.trim() !== '' && name.trim() !== known) await rename(name.trim());
      const one =
        recording === null ? { terminal_id: terminal.terminal_id } : { recording_id: recording };
      const place = all ? {} : one;
      const share = await api.share(sandboxId, { ...place, role, ttl });
      setMade(share);
      setList(await api.shares(sandboxId));
    } catch (reason) {
      notifyFailure(t`No link could be made`)(reason);
    } finally {
      setBusy(false);
    }
  }

  async function revoke(share: Share): Promise<void> {
    try {
      await api.revokeShare(sandboxId, share.share_id);
      setList((now) => now.filter(({ share_id: id }) => id !== share.share_id));
      if (made?.share_id === share.share_id) setMade(null);
      notify(t`Revoked. Its guests are disconnected within seconds.`);
    } catch (reason) {
      notifyFailure(t`The link could not be revoked`)(reason);
    }
  }

  return (
    <Dialog title={recording === null ? t`Share` : t`Share this recording`} onClose={onClose} wide>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        {'recording_id' in terminal ? (
          <p>{t`Whoever has the link can play “${terminal.name}”, and see nothing else here.`}</p>
        ) : (
          <>
            <Segments
              legend={t`Whoever has the link can`}
              choices={ROLES()}
              chosen={role}
              onChoose={setRole}
            />
            <Segments
              legend={t`At`}
              choices={[
                { value: 'one', words: terminalWords(terminal, '') },
                { value: 'all', words: t`Every terminal here` },
              ]}
              chosen={all ? 'all' : 'one'}
              onChoose={(place) => setAll(place === 'all')}
            />
          </>
        )}
        <Field label={t`Your name, as guests see it`} trouble={null}>
          {(wiring) => (
            <input
              {...wiring}
              autoComplete="nickname"
              maxLength={MAX_NAME}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <div className="share-make">
          <label className="share-ttl">
            {t`For`}
            <select value={ttl} onChange={(event) => setTtl(event.target.value)}>
              {TTLS().map(({ value, words }) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          <span className="spring" />
          <button type="submit" className="button button-primary" disabled={busy}>
            {t`Make a link`}
          </button>
        </div>
        {made !== null && <Made link={made.link} localOnly={made.local_only} />}
        {list.length > 0 && (
          <section>
            <h3 className="form-title">{t`Links alive`}</h3>
            <ul className="lines">
              {list.map((share) => (
                <Line
                  key={share.share_id}
                  share={share}
                  here={recording ?? terminal.terminal_id}
                  onRevoke={() => void revoke(share)}
                />
              ))}
            </ul>
          </section>
        )}
      </form>
    </Dialog>
  );
}

interface MadeProps {
  readonly link: string;
  readonly localOnly: boolean;
}

function Made({ link, localOnly }: MadeProps) {
  return (
    <OnceShown label={t`Share link`} value={link}>
      <p>{t`This link is shown once. Send it only to people you trust with this terminal.`}</p>
      {localOnly && <LocalOnly />}
    </OnceShown>
  );
}

interface LineProps {
  readonly share: Share;
  /** The terminal or recording that the dialog is about. */
  readonly here: string;
  readonly onRevoke: () => void;
}

/** What a link does, in words. */
function placeOf(share: Share, here: string): string {
  const one = share.recording_id ?? share.terminal_id;
  if (share.recording_id !== null)
    return one === here ? t`Play this recording` : t`Play another recording`;
  const act = share.role === 'viewer' ? t`Watch` : t`Ask to type`;
  if (one === null) return t`${act} · every terminal`;
  return `${act} · ${one === here ? t`this terminal` : 'another'}`;
}

function Line({ share, here, onRevoke }: LineProps) {
  const now = useStore(tick);
  const left = duration(secondsUntil(share.expires_at, now));
  const guests = share.guests === 0 ? t`no guests yet` : share.guest_names.join(', ');
  return (
    <li>
      <span className="lines-words">
        {placeOf(share, here)}
        <span className="quiet">{t`${guests} · ${left} left`}</span>
      </span>
      <button type="button" className="button button-small" onClick={onRevoke}>
        {t`Revoke`}
      </button>
    </li>
  );
}
