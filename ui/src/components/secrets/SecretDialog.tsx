/** Setting a secret, and giving one another value. The value is forgotten with the dialog. */

import { useState, type ReactNode } from 'react';
import { Problem } from '../../api/call';
import { api } from '../../api/client';
import type { Secret, SecretKind, SetSecret } from '../../api/types';
import { t, worded } from '../../language/t';
import { notify } from '../../state/announce';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { mayChangeSecret, ownerOf } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';
import { Segments } from '../parts/Segments';

interface DialogProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const KINDS = worded<readonly { value: SecretKind; words: string }[]>(() => [
  { value: 'provider', words: t`Model provider` },
  { value: 'custom', words: t`Any HTTPS service` },
  { value: 'git', words: t`Git remote` },
  { value: 'forge', words: t`Pull requests` },
  { value: 'env', words: t`Variable` },
]);
const PROVIDERS = [
  'anthropic',
  'openai',
  'google',
  'gemini',
  'elevenlabs',
  'deepgram',
  'groq',
  'together',
  'fireworks',
  'mistral',
  'cohere',
  'replicate',
  'huggingface',
];

const GITHUB = 'https://github.com';
/** Kinds that put nothing inside. */
const OUTSIDE: readonly SecretKind[] = ['git', 'forge'];

interface Draft {
  readonly name: string;
  readonly value: string;
  readonly kind: SecretKind;
  readonly scope: string;
  readonly provider: string;
  readonly hosts: string;
  readonly remote: string;
  readonly forge: 'github' | 'gitea';
  readonly env: string;
  readonly exposed: boolean;
}

const EMPTY: Draft = {
  name: '',
  value: '',
  kind: 'provider',
  scope: 'person',
  provider: 'anthropic',
  hosts: '',
  remote: '',
  forge: 'github',
  env: '',
  exposed: false,
};

/** The body of a create: only what its kind knows. Pure. */
export function bodyOf(draft: Draft): SetSecret {
  const { kind, value, scope, provider, remote } = draft;
  const hosts = draft.hosts.split(/[\s,]+/).filter((host) => host !== '');
  const env = draft.env.trim();
  return {
    kind,
    value,
    scope,
    broker_protected: kind !== 'env' && !draft.exposed,
    ...(kind === 'provider' ? { provider } : {}),
    ...(kind === 'custom' ? { hosts } : {}),
    ...(kind === 'git' ? { remote: remote.trim() } : {}),
    ...(kind === 'forge' ? { forge: draft.forge, remote: remote.trim() || GITHUB } : {}),
    ...(env !== '' && !OUTSIDE.includes(kind) ? { env } : {}),
  };
}

interface Trouble {
  readonly field: string | null;
  readonly text: string;
  readonly code?: string;
}

interface SecretDialogProps extends DialogProps {
  /** The model provider whose key is missing. */
  readonly provider?: string | undefined;
  /** Whose sandboxes use it, at first. */
  readonly scope?: string;
}

export function SecretDialog(props: SecretDialogProps) {
  const { onClose, onDone, provider, scope = EMPTY.scope } = props;
  const [draft, setDraft] = useState<Draft>({
    ...EMPTY,
    scope,
    ...(provider === undefined ? {} : { provider, name: provider }),
  });
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [busy, setBusy] = useState(false);
  const change = (part: Partial<Draft>): void => {
    setDraft((now) => ({ ...now, ...part }));
    setTrouble(null);
  };
  const at = (field: string): string | null => (trouble?.field === field ? trouble.text : null);
  const known = ['name', 'value', 'hosts', 'remote', 'env', 'scope'];

  const doubtful = trouble?.code === 'look_alike_host';

  async function submit(): Promise<void> {
    setBusy(true);
    try {
      const body = bodyOf(draft);
      const made = await api.addSecret(
        draft.name.trim(),
        doubtful ? { ...body, look_alike: true } : body,
      );
      notify(t`${made.name} is set.`);
      onDone();
      onClose();
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble({ field: reason.field, text: reason.message, code: reason.code });
      setBusy(false);
    }
  }

  return (
    <Dialog title={t`Set a secret`} onClose={onClose} wide>
      <Form onSubmit={() => void submit()}>
        {trouble !== null && !known.includes(trouble.field ?? '') && (
          <p className="form-trouble" role="alert">
            {trouble.text}
          </p>
        )}
        <Segments
          legend={t`What it is for`}
          choices={KINDS()}
          chosen={draft.kind}
          onChoose={(kind) => change({ kind })}
        />
        <div className="form-row">
          <Field label={t`Name`} hint={t`How you will find it`} trouble={at('name')}>
            {(props) => (
              <Text {...props} value={draft.name} onChange={(name) => change({ name })} />
            )}
          </Field>
          <ValueField
            value={draft.value}
            trouble={at('value')}
            onChange={(value) => change({ value })}
          />
        </div>
        <div className="form-row">
          <Purpose draft={draft} at={at} change={change} />
          {draft.kind === 'custom' && draft.exposed && (
            <EnvField draft={draft} at={at} change={change} />
          )}
          <ScopeField
            scope={draft.scope}
            trouble={at('scope')}
            onChange={(scope) => change({ scope })}
          />
        </div>
        <Exposure draft={draft} change={change} />
        <Foot busy={busy} able={draft.name.trim() !== '' && draft.value !== ''} onClose={onClose}>
          {doubtful ? t`Use this host` : t`Set secret`}
        </Foot>
      </Form>
    </Dialog>
  );
}

interface PurposeProps {
  readonly draft: Draft;
  readonly at: (field: string) => string | null;
  readonly change: (part: Partial<Draft>) => void;
}

function Purpose({ draft, at, change }: PurposeProps) {
  switch (draft.kind) {
    case 'provider':
      return (
        <Field label={t`Provider`} trouble={at('provider')}>
          {(props) => (
            <select
              {...props}
              value={draft.provider}
              onChange={(event) => change({ provider: event.target.value })}
            >
              {PROVIDERS.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
      );
    case 'custom':
      return (
        <Field
          label={t`Hosts`}
          hint={t`Other hosts need your approval first`}
          trouble={at('hosts')}
        >
          {(props) => (
            <Text
              {...props}
              value={draft.hosts}
              placeholder={t`api.example.com`}
              onChange={(hosts) => change({ hosts })}
            />
          )}
        </Field>
      );
    case 'git':
      return (
        <Field label={t`Remote`} hint={t`Git may use it below this URL`} trouble={at('remote')}>
          {(props) => (
            <Text
              {...props}
              value={draft.remote}
              placeholder={t`https://github.com/owner`}
              onChange={(remote) => change({ remote })}
            />
          )}
        </Field>
      );
    case 'forge':
      return <ForgeFields {...{ draft, at, change }} />;
    case 'env':
      return <EnvField draft={draft} at={at} change={change} />;
  }
}

function ForgeFields({ draft, at, change }: PurposeProps) {
  return (
    <>
      <Field label={t`Forge`} trouble={at('forge')}>
        {(props) => (
          <select
            {...props}
            value={draft.forge}
            onChange={(event) =>
              change({ forge: event.target.value === 'gitea' ? 'gitea' : 'github' })
            }
          >
            <option value="github">GitHub</option>
            <option value="gitea">{t`Gitea or Forgejo`}</option>
          </select>
        )}
      </Field>
      <Field label={t`Address`} hint={t`The token goes to its API alone`} trouble={at('remote')}>
        {(props) => (
          <Text
            {...props}
            value={draft.remote}
            placeholder={draft.forge === 'github' ? GITHUB : t`https://git.example.com`}
            onChange={(remote) => change({ remote })}
          />
        )}
      </Field>
    </>
  );
}

function EnvField({ draft, at, change }: PurposeProps) {
  return (
    <Field label={t`Variable`} hint={t`Its name in the sandbox`} trouble={at('env')}>
      {(props) => (
        <Text
          {...props}
          value={draft.env}
          placeholder={t`API_TOKEN`}
          onChange={(env) => change({ env })}
        />
      )}
    </Field>
  );
}

function Exposure({ draft, change }: Pick<PurposeProps, 'draft' | 'change'>) {
  if (OUTSIDE.includes(draft.kind)) return null;
  const exposed = draft.kind === 'env' || draft.exposed;
  return (
    <div className={exposed ? 'exposure exposure-on' : 'exposure'}>
      {draft.kind !== 'env' && (
        <label className="check">
          <input
            type="checkbox"
            checked={draft.exposed}
            onChange={(event) => change({ exposed: event.target.checked })}
          />
          {t`Put the value itself inside (not broker-protected)`}
        </label>
      )}
      {exposed && (
        <p>
          {t`Everything in the sandbox can read it, and can send it away. Sandboxes that hold it are marked as exposed.`}
        </p>
      )}
    </div>
  );
}

interface ScopeProps {
  readonly scope: string;
  readonly trouble: string | null;
  readonly onChange: (scope: string) => void;
}

function ScopeField({ scope, trouble, onChange }: ScopeProps) {
  const ours = useStore(team);
  const own = (useStore(sandboxes) ?? []).filter((one) => ownerOf(ours, one) === null);
  return (
    <Field label={t`Who may use it`} trouble={trouble}>
      {(props) => (
        <select {...props} value={scope} onChange={(event) => onChange(event.target.value)}>
          <option value="person">{t`All my sandboxes`}</option>
          {mayChangeSecret(ours, 'organization') && (
            <option value="organization">{t`The organization`}</option>
          )}
          {own.map(({ sandbox_id: id, name }) => (
            <option key={id} value={`sandbox:${id}`}>
              {t`Sandbox ${name}`}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface RotateProps extends DialogProps {
  readonly secret: Secret;
}

export function RotateDialog({ secret, onClose, onDone }: RotateProps) {
  const [value, setValue] = useState('');
  const [trouble, setTrouble] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  async function submit(): Promise<void> {
    setBusy(true);
    try {
      const next = await api.rotateSecret(secret, value);
      notify(t`${next.name} is at version ${next.version}, in every running sandbox.`);
      onDone();
      onClose();
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble(reason.message);
      setBusy(false);
    }
  }

  return (
    <Dialog title={t`Rotate ${secret.name}`} onClose={onClose}>
      <Form onSubmit={() => void submit()}>
        <ValueField value={value} trouble={trouble} onChange={setValue} />
        <Foot busy={busy} able={value !== ''} onClose={onClose}>
          {t`Rotate`}
        </Foot>
      </Form>
    </Dialog>
  );
}

function Form({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) {
  return (
    <form
      className="form"
      noValidate
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

interface ValueProps {
  readonly value: string;
  readonly trouble: string | null;
  readonly onChange: (value: string) => void;
}

function ValueField({ value, trouble, onChange }: ValueProps) {
  return (
    <Field label={t`Value`} hint={t`Never shown again`} trouble={trouble} grow>
      {(props) => (
        <input
          {...props}
          type="password"
          autoComplete="new-password"
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

interface TextProps {
  readonly id: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly onChange: (value: string) => void;
}

function Text({ onChange, ...rest }: TextProps) {
  return (
    <input
      {...rest}
      autoComplete="off"
      autoCapitalize="off"
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

interface FootProps {
  readonly busy: boolean;
  readonly able: boolean;
  readonly onClose: () => void;
  readonly children: string;
}

function Foot({ busy, able, onClose, children }: FootProps) {
  return (
    <footer className="dialog-foot">
      <button type="button" className="button" onClick={onClose}>
        {t`Cancel`}
      </button>
      <button type="submit" className="button button-primary" disabled={busy || !able}>
        {children}
      </button>
    </footer>
  );
}
