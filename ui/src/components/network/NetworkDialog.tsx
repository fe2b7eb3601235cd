/** What a sandbox may reach: its mode and rules, switched live, and what was refused. */

import { useEffect, useState } from 'react';
import { api } from '../../api/client';
import type { Network, NetworkChange, NetworkRule, Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { age, tick } from '../../state/clock';
import { loadRefusals, refusals, type Refusal } from '../../state/refusals';
import { useStore } from '../../state/store';
import { Dialog } from '../parts/Dialog';
import { Segments } from '../parts/Segments';
import { openPorts } from '../parts/words';

interface NetworkDialogProps {
  readonly sandbox: Sandbox;
  readonly onClose: () => void;
}

const MODES = worded(
  () =>
    [
      {
        value: 'none',
        words: t`None`,
        note: t`Nothing leaves but model calls through the broker.`,
      },
      {
        value: 'limited',
        words: t`Limited`,
        note: t`Only the rules below; everything else is refused.`,
      },
      {
        value: 'host-only',
        words: t`Host only`,
        note: t`Chosen ports of this machine, and its ranges.`,
      },
      { value: 'full', words: t`Full`, note: t`Every public address; private ones stay refused.` },
    ] as const,
);

export function NetworkDialog({ sandbox, onClose }: NetworkDialogProps) {
  const { sandbox_id: id } = sandbox;
  const [network, setNetwork] = useState<Network | null>(null);
  const [busy, setBusy] = useState(false);
  const refused = useStore(refusals)[id] ?? [];

  useEffect(() => {
    api.network(id).then(setNetwork, notifyFailure(t`The network could not be shown`));
    loadRefusals(id).catch(() => undefined);
  }, [id]);

  async function change(what: NetworkChange, done: string): Promise<void> {
    setBusy(true);
    try {
      setNetwork(await api.switchNetwork(id, what));
      notify(done);
    } catch (reason) {
      notifyFailure(t`Not changed`)(reason);
    } finally {
      setBusy(false);
    }
  }

  const allow = (host: string): void => void change({ allow: [host] }, t`${host} is allowed.`);
  const mode = MODES().find(({ value }) => value === network?.mode);
  return (
    <Dialog title={t`Network of ${sandbox.name}`} onClose={onClose} wide>
      <div className="form">
        <div className="form-group">
          <Segments
            legend={t`What it may reach`}
            choices={MODES()}
            chosen={mode?.value ?? null}
            disabled={busy || network === null}
            onChoose={(one) => void change({ mode: one }, t`The network is ${one} now.`)}
          />
          <p className="field-hint">
            {mode?.note ?? '\u00a0'}
            {network?.mode === 'full' && ` ${t`Open there: ${openPorts(network)}.`}`}
          </p>
        </div>
        <Refused
          list={refused.filter((one) => network?.allowed.includes(targetOf(one)) !== true)}
          busy={busy}
          onAllow={allow}
        />
        <section>
          <h3 className="form-title">{t`Allowed`}</h3>
          <AllowLine busy={busy} onAllow={allow} />
          {network !== null && (
            <Rules
              network={network}
              onForget={(host) => void change({ forget: [host] }, t`${host} is forgotten.`)}
            />
          )}
        </section>
      </div>
    </Dialog>
  );
}

interface RefusedProps {
  readonly list: readonly Refusal[];
  readonly busy: boolean;
  readonly onAllow: (host: string) => void;
}

function Refused({ list, busy, onAllow }: RefusedProps) {
  const now = useStore(tick);
  if (list.length === 0) return null;
  return (
    <section>
      <h3 className="form-title">{t`Recently refused`}</h3>
      <ul className="lines lines-scroll">
        {list.map(({ host, port, detail, at, times }) => {
          const target = targetOf({ host, port });
          return (
            <li key={`${host} ${port}`}>
              <span className="lines-words">
                {host === '' ? t`Further destinations` : <code>{target}</code>}
                <span className="quiet">
                  {times > 1 && `${t`${times} times`} · `}
                  {age(at, now)} · {detail}
                </span>
              </span>
              {host !== '' && (
                <button
                  type="button"
                  className="button button-small"
                  disabled={busy}
                  aria-label={t`Allow ${target}`}
                  onClick={() => onAllow(target)}
                >
                  {t`Allow`}
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** What allows it: a host, with its port unless that is the usual one. */
function targetOf({ host, port }: Pick<Refusal, 'host' | 'port'>): string {
  return port === 443 || port === 80 ? host : `${host}:${port}`;
}

function AllowLine({ busy, onAllow }: Pick<RefusedProps, 'busy' | 'onAllow'>) {
  const [host, setHost] = useState('');
  return (
    <form
      className="allow"
      onSubmit={(event) => {
        event.preventDefault();
        if (host.trim() === '') return;
        onAllow(host.trim());
        setHost('');
      }}
    >
      <input
        aria-label={t`Host to allow`}
        placeholder={t`host, *.host, host:port or preset:pypi`}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={host}
        onChange={(event) => setHost(event.target.value)}
      />
      <button type="submit" className="button" disabled={busy || host.trim() === ''}>
        {t`Allow`}
      </button>
    </form>
  );
}

interface RulesProps {
  readonly network: Network;
  readonly onForget: (host: string) => void;
}

function Rules({ network, onForget }: RulesProps) {
  const { allowed, denied, rules } = network;
  const others = rules.filter(({ origin }) => origin !== 'owner');
  if (allowed.length + denied.length + others.length === 0) {
    return <p className="quiet">{t`No host by name.`}</p>;
  }
  return (
    <ul className="lines lines-scroll">
      {[...allowed.map((host) => ({ host, denied: false })), ...denied.map(no)].map((one) => (
        <li key={one.host}>
          <span className="lines-words">
            <code>{one.host}</code>
            <span className="quiet">{one.denied ? t`refused by its owner` : t`by its owner`}</span>
          </span>
          <button
            type="button"
            className="button button-small"
            aria-label={t`Forget ${one.host}`}
            onClick={() => onForget(one.host)}
          >
            {t`Forget`}
          </button>
        </li>
      ))}
      {others.map((rule, i) => (
        <li key={i}>
          <span className="lines-words">
            <code>{ruleWords(rule)}</code>
            <span className="quiet">{t`by ${rule.origin}`}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function no(host: string): { host: string; denied: boolean } {
  return { host, denied: true };
}

function ruleWords({ host, ports }: NetworkRule): string {
  return ports.length === 0 ? host : `${host}:${ports.join(',')}`;
}
