/** Brings a sandbox's work home: what would come, the pull, held pushes, and newer commits in. */

import { useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { isLive } from '../../state/acts';
import { bundleOf, orderPull, pullCommand, type PullWish } from '../../state/home/home';
import { Dialog } from '../parts/Dialog';
import { UnpulledWork } from '../sandboxes/UnpulledWork';
import { HeldPushes } from './HeldPushes';
import { PullOrders, usePulls } from './PullOrders';
import { SyncSection } from './SyncSection';
import '../../styles/home.css';

interface HomeDialogProps {
  readonly sandbox: Sandbox;
  readonly onClose: () => void;
}

export function HomeDialog({ sandbox, onClose }: HomeDialogProps) {
  const [wish, setWish] = useState<PullWish>({ repo: 0, branch: '', into: '', uncommitted: false });
  const [pulls, reload] = usePulls(sandbox.sandbox_id);
  const done = pulls?.pulls.filter(({ state }) => state === 'done').length ?? 0;
  return (
    <Dialog title={t`Pull from ${sandbox.name}`} onClose={onClose} wide>
      <div className="form">
        <section>
          <h3 className="form-title">{t`Not pulled yet`}</h3>
          <UnpulledWork key={done} sandboxId={sandbox.sandbox_id} />
        </section>
        <section>
          <h3 className="form-title">{t`Pull`}</h3>
          <PullForm sandbox={sandbox} wish={wish} onChange={setWish} />
          <PullActs
            sandbox={sandbox}
            wish={wish}
            watched={pulls?.watched === true}
            onOrdered={reload}
          />
          <PullOrders list={pulls?.pulls ?? []} onChange={reload} />
        </section>
        <HeldPushes
          sandbox={sandbox}
          watched={pulls?.watched === true}
          pulls={pulls?.pulls ?? []}
          onOrdered={reload}
        />
        {isLive(sandbox) && <SyncSection sandbox={sandbox} repo={wish.repo} onTerminal={onClose} />}
      </div>
    </Dialog>
  );
}

interface PullFormProps {
  readonly sandbox: Sandbox;
  readonly wish: PullWish;
  readonly onChange: (wish: PullWish) => void;
}

function PullForm({ sandbox, wish, onChange }: PullFormProps) {
  const own = sandbox.repos[wish.repo]?.branch ?? '';
  return (
    <>
      {sandbox.repos.length > 1 && (
        <div className="field">
          <label htmlFor="pull-repo">{t`Repository`}</label>
          <select
            id="pull-repo"
            value={wish.repo}
            onChange={(event) => onChange({ ...wish, repo: Number(event.target.value) })}
          >
            {sandbox.repos.map(({ path }, number) => (
              <option key={path} value={number}>
                {path}
              </option>
            ))}
          </select>
        </div>
      )}
      <div className="home-fields">
        <Branch
          id="pull-from"
          words={t`Branch in the sandbox`}
          own={own}
          value={wish.branch}
          {...{ onChange }}
        >
          {(branch) => ({ ...wish, branch })}
        </Branch>
        <Branch
          id="pull-into"
          words={t`Branch of your repository`}
          own={wish.branch === '' ? own : wish.branch}
          value={wish.into}
          {...{ onChange }}
        >
          {(into) => ({ ...wish, into })}
        </Branch>
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={wish.uncommitted}
          onChange={(event) => onChange({ ...wish, uncommitted: event.target.checked })}
        />
        {t`With what is not committed, as a commit of its own`}
      </label>
    </>
  );
}

interface BranchProps {
  readonly id: string;
  readonly words: string;
  readonly own: string;
  readonly value: string;
  readonly onChange: (wish: PullWish) => void;
  readonly children: (value: string) => PullWish;
}

function Branch({ id, words, own, value, onChange, children }: BranchProps) {
  return (
    <div className="field field-grow">
      <label htmlFor={id}>{words}</label>
      <input
        id={id}
        value={value}
        placeholder={own}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onChange(children(event.target.value.trim()))}
      />
    </div>
  );
}

interface PullActsProps {
  readonly sandbox: Sandbox;
  readonly wish: PullWish;
  readonly watched: boolean;
  readonly onOrdered: () => void;
}

function PullActs({ sandbox, wish, watched, onOrdered }: PullActsProps) {
  const [busy, setBusy] = useState(false);

  async function run(act: () => Promise<void>): Promise<void> {
    setBusy(true);
    try {
      await act();
    } catch (reason) {
      notifyFailure(t`Not pulled`)(reason);
    } finally {
      setBusy(false);
    }
  }

  async function order(): Promise<void> {
    await orderPull(sandbox.sandbox_id, wish);
    onOrdered();
  }

  async function save(): Promise<void> {
    const bundle = URL.createObjectURL(await bundleOf(sandbox.sandbox_id, wish));
    const link = document.createElement('a');
    link.href = bundle;
    link.download = `${sandbox.name}.bundle`;
    link.click();
    URL.revokeObjectURL(bundle);
    notify(t`git fetch ${sandbox.name}.bundle brings it into a checkout.`);
  }

  return (
    <>
      <p className="field-hint" role="status">
        {watched
          ? t`A checkout of this repository waits: it writes the branch, never your working tree.`
          : t`Run “atoll pull --watch” in your checkout, and this button writes the branch there. Or run:`}
      </p>
      {!watched && <code className="home-command">{pullCommand(sandbox.name, wish)}</code>}
      <div className="home-acts">
        <button
          type="button"
          className="button button-primary"
          data-first-focus
          disabled={busy}
          onClick={() => void run(order)}
        >
          {t`Pull into my checkout`}
        </button>
        <button type="button" className="button" disabled={busy} onClick={() => void run(save)}>
          {t`Download as a bundle`}
        </button>
      </div>
    </>
  );
}
