/** Puts the access token of a login into a sandbox whose backend has no doors, which would add it
 *  from outside: its owner's own act, with what that means beside it. */

import { useEffect, useState } from 'react';
import { Problem } from '../../api/call';
import { api } from '../../api/client';
import { loginsApi, type AgentLogin } from '../../api/logins';
import type { Profile, Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { ownerOf } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Dialog } from '../parts/Dialog';
import { Choice } from '../parts/Field';
import { profileWords } from '../parts/words';

/** The backends of this server without doors. */
export function useDoorless(): readonly string[] {
  const [found, setFound] = useState<readonly string[]>([]);
  useEffect(() => {
    api.extensions().then(
      (all) =>
        setFound(
          all
            .filter(({ capabilities: able }) => able !== null && !able.doors)
            .map(({ name }) => name),
        ),
      () => undefined,
    );
  }, []);
  return found;
}

interface ExposeDialogProps {
  readonly login: AgentLogin;
  readonly doorless: readonly string[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function ExposeDialog({ login, doorless, onClose, onDone }: ExposeDialogProps) {
  const { agent, id, exposed_to: exposed } = login;
  const [chosen, setChosen] = useState('');
  const [trouble, setTrouble] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const boxes = useBoxes(doorless);
  const profiles = useProfiles(doorless);

  async function expose(): Promise<void> {
    if (chosen === '') {
      setTrouble(t`Choose where it goes.`);
      return;
    }
    setBusy(true);
    try {
      await loginsApi.expose(id, [...new Set([...exposed, chosen])]);
      notify(t`The access token of ${agent} is inside.`);
      onDone();
      onClose();
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble(reason.message);
      setBusy(false);
    }
  }

  return (
    <Dialog title={t`Put the token of ${agent} inside?`} onClose={onClose} wide>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void expose();
        }}
      >
        <Risk login={login} />
        <Choice
          label={t`Where`}
          hint={t`Backends without doors: ${doorless.map(plain).join(', ')}`}
          value={chosen}
          trouble={trouble}
          onChange={(place) => {
            setChosen(place);
            setTrouble(null);
          }}
        >
          <option value="">{t`choose a sandbox or a profile`}</option>
          {boxes.map(({ sandbox_id: box, name }) => (
            <option key={box} value={`sandbox:${box}`}>
              {t`Sandbox ${name}`}
            </option>
          ))}
          {profiles.map(({ id: profile }) => (
            <option key={profile} value={`profile:${profile}`}>
              {t`All my sandboxes of profile ${profileWords(profile)}`}
            </option>
          ))}
        </Choice>
        <footer className="dialog-foot">
          <button type="button" className="button" data-first-focus onClick={onClose}>
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-danger" disabled={busy}>
            {t`Put it inside, at my risk`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** What may happen to a token that lies inside. */
function Risk({ login: { expires_at: end } }: { readonly login: AgentLogin }) {
  const now = useStore(tick);
  const left = end === null ? 0 : secondsUntil(end, now);
  return (
    <div className="reason reason-failed" role="note">
      <p>
        <strong>{t`The risk is yours.`}</strong>{' '}
        {t`Every program in there can read the access token, send it elsewhere and use it as you.`}
      </p>
      <p>
        {left > 0
          ? t`Taking it back, or ending the login, does not end a token that is inside: the present one works for ${duration(left)} more.`
          : t`Taking it back, or ending the login, does not end a token that is inside.`}
      </p>
    </div>
  );
}

const plain = (extension: string): string => extension.replace(/^ext\./, '');

/** The person's own sandboxes that nothing else serves. */
function useBoxes(doorless: readonly string[]): readonly Sandbox[] {
  const ours = useStore(team);
  return (useStore(sandboxes) ?? []).filter(
    (one) => ownerOf(ours, one) === null && doorless.includes(one.extension),
  );
}

/** Profiles whose sandboxes may be there: a route decides where one names no backend. */
function useProfiles(doorless: readonly string[]): readonly Profile[] {
  const [found, setFound] = useState<readonly Profile[]>([]);
  useEffect(() => {
    api.profiles().then(setFound, () => undefined);
  }, []);
  return found.filter(({ extension }) =>
    typeof extension === 'string' ? doorless.includes(extension) : true,
  );
}
