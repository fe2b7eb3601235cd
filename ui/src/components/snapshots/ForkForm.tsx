/** Makes copies of a sandbox as it is now, each of which goes on by itself. */

import { useState, type SubmitEvent } from 'react';
import type { Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { go, goTo } from '../../state/route';
import { forkSandbox, type Conversation, type ForkOrder } from '../../state/snapshots';
import { Field, Line } from '../parts/Field';
import { Segments } from '../parts/Segments';

type Count = '1' | '2' | '3' | '5' | '8';

const COUNTS: readonly { value: Count; words: string }[] = (['1', '2', '3', '5', '8'] as const).map(
  (value) => ({ value, words: value }),
);
const CONVERSATIONS = worded<readonly { value: Conversation; words: string; note: string }[]>(
  () => [
    {
      value: 'continue',
      words: t`Goes on`,
      note: t`Each copy has all that was said, and goes on by itself.`,
    },
    { value: 'fresh', words: t`Begins anew`, note: t`Its agent knows nothing of what was said.` },
    { value: 'none', words: t`No agent`, note: t`Only the files are copied.` },
  ],
);

interface ForkFormProps {
  readonly sandbox: Sandbox;
  readonly close: () => void;
}

export function ForkForm({ sandbox, close }: ForkFormProps) {
  const [count, setCount] = useState<Count>('1');
  const [conversation, setConversation] = useState<Conversation>('continue');
  const [prompt, setPrompt] = useState('');
  const [branch, setBranch] = useState('');
  const [trouble, setTrouble] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const talks = sandbox.agent !== null && conversation !== 'none';

  async function submit(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setTrouble(null);
    const order: ForkOrder = {
      count: Number(count),
      conversation,
      prompt: talks ? orNull(prompt) : null,
      branch: orNull(branch),
    };
    try {
      show(await forkSandbox(sandbox.sandbox_id, order));
      close();
    } catch (reason) {
      setTrouble(reason instanceof Error ? reason.message : String(reason));
      setBusy(false);
    }
  }

  return (
    <form className="form" onSubmit={(event) => void submit(event)} aria-busy={busy}>
      <Segments legend={t`Copies`} choices={COUNTS} chosen={count} onChoose={setCount} />
      {sandbox.agent !== null && (
        <div>
          <Segments
            legend={t`The conversation`}
            choices={CONVERSATIONS()}
            chosen={conversation}
            onChoose={setConversation}
          />
          <p className="field-hint">
            {CONVERSATIONS().find(({ value }) => value === conversation)?.note}
          </p>
        </div>
      )}
      {talks && (
        <Field label={t`What each is told`} hint={t`Nothing: it waits for you.`} trouble={null}>
          {(wiring) => (
            <textarea
              {...wiring}
              rows={3}
              value={prompt}
              placeholder={t`Try it with SQLite instead`}
              onChange={(event) => setPrompt(event.target.value)}
            />
          )}
        </Field>
      )}
      {sandbox.repos.length > 0 && (
        <Line
          label={t`Branch`}
          hint={t`A branch of its own; several get a number each.`}
          value={branch}
          placeholder={t`a free one`}
          onChange={setBranch}
        />
      )}
      {trouble !== null && (
        <div className="form-trouble" role="alert">
          <p>{trouble}</p>
        </div>
      )}
      <footer className="dialog-foot">
        <button type="button" className="button" onClick={close}>
          {t`Cancel`}
        </button>
        <button type="submit" className="button button-primary" disabled={busy}>
          {busy ? t`Forking…` : t`Fork`}
        </button>
      </footer>
    </form>
  );
}

/** Shows what was made: several with one task side by side, else the first. */
function show(made: readonly Sandbox[]): void {
  const group = made[0]?.task?.group ?? null;
  if (group !== null) goTo('compare', group);
  else if (made[0] !== undefined) go(made[0].sandbox_id);
}

function orNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}
