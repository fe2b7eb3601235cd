/** Begins a login of an agent: by a code, in a browser, or by a key. */

import { useEffect, useState } from 'react';
import { Problem } from '../../api/call';
import { api } from '../../api/client';
import { loginsApi, type LoginMethod } from '../../api/logins';
import type { CatalogueAgent } from '../../api/types';
import { t, worded } from '../../language/t';
import { notify } from '../../state/announce';
import { Dialog } from '../parts/Dialog';
import { Choice, Line } from '../parts/Field';
import { Segments } from '../parts/Segments';

interface LoginDialogProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const WAYS = worded<readonly { value: LoginMethod; words: string }[]>(() => [
  { value: 'device', words: t`A code, on any device` },
  { value: 'browser', words: t`This browser` },
  { value: 'key', words: t`An API key` },
]);

const NOTES = worded<Readonly<Record<LoginMethod, string>>>(() => ({
  device: t`You open the vendor’s page anywhere, and enter a code there.`,
  browser: t`You log in at the vendor’s page, and bring back the address that the browser ends at.`,
  key: t`The key goes into the vault and is never shown again. It has no end and is not renewed.`,
}));

export function LoginDialog({ onClose, onDone }: LoginDialogProps) {
  const [agents, setAgents] = useState<readonly CatalogueAgent[]>([]);
  const [agent, setAgent] = useState('codex');
  const [method, setMethod] = useState<LoginMethod>('device');
  const [key, setKey] = useState('');
  const [chosen, setChosen] = useState('');
  const [trouble, setTrouble] = useState<{ field: string | null; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const at = (field: string): string | null => (trouble?.field === field ? trouble.text : null);

  useEffect(() => {
    api.catalogue().then(
      (all) => setAgents(all.filter(({ providers }) => providers.length > 0)),
      () => undefined,
    );
  }, []);

  const providers = agents.find(({ name }) => name === agent)?.providers ?? [];
  // An agent calls its first one where nobody chooses.
  const provider = providers.includes(chosen) ? chosen : (providers[0] ?? '');

  async function begin(): Promise<void> {
    if (method === 'key' && key === '') {
      setTrouble({ field: 'api_key', text: t`Paste the key.` });
      return;
    }
    setBusy(true);
    try {
      const made = await loginsApi.begin(agent, method, key, provider);
      if (made.status === 'ready') notify(t`${agent} has its key. Turn it on to use it.`);
      onDone();
      onClose();
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble({ field: fieldOf(reason), text: reason.message });
      setBusy(false);
    }
  }

  const names = agents.map(({ name }) => name);
  return (
    <Dialog title={t`Log an agent in`} onClose={onClose} wide>
      <form
        className="form"
        noValidate
        autoComplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          void begin();
        }}
      >
        {trouble?.field === null && (
          <p className="form-trouble" role="alert">
            {trouble.text}
          </p>
        )}
        <Choice
          label={t`Agent`}
          value={agent}
          trouble={at('agent')}
          onChange={(name) => {
            setAgent(name);
            setTrouble(null);
          }}
        >
          {!names.includes(agent) && <option>{agent}</option>}
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Choice>
        <Segments
          legend={t`How you log in`}
          choices={WAYS()}
          chosen={method}
          onChoose={(way) => {
            setMethod(way);
            setTrouble(null);
          }}
        />
        <p className="quiet">{NOTES()[method]}</p>
        {method === 'key' && providers.length > 1 && (
          <Choice
            label={t`Provider`}
            hint={t`Whose key it is: ${agent} calls each of these`}
            value={provider}
            trouble={at('provider')}
            onChange={(name) => {
              setChosen(name);
              setTrouble(null);
            }}
          >
            {providers.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </Choice>
        )}
        {method === 'key' && (
          <Line
            label={t`API key`}
            hidden
            value={key}
            trouble={at('api_key')}
            onChange={(text) => {
              setKey(text);
              setTrouble(null);
            }}
          />
        )}
        <p className="quiet">{t`No sandbox uses it before you turn it on.`}</p>
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-primary" disabled={busy}>
            {busy ? t`Beginning…` : t`Begin`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** An agent without an issuer here is the agent's trouble, whichever words say so. */
function fieldOf({ field, code }: Problem): string | null {
  if (code === 'no_issuer') return 'agent';
  return ['agent', 'api_key', 'provider'].find((one) => one === field) ?? null;
}
