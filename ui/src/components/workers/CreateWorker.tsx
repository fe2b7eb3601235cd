/** Asks what a new worker should be, and shows what the server says at the field that it is about. */

import { useEffect, useRef, useState } from 'react';
import { Problem } from '../../api/call';
import { api } from '../../api/client';
import type { CatalogueAgent, Extension, Profile, Repository, Sandbox } from '../../api/types';
import { workersApi, type Desktop, type WorkerMade } from '../../api/workers';
import { t, worded } from '../../language/t';
import { notify } from '../../state/announce';
import { goTo } from '../../state/route';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { ownerOf } from '../../state/team/rights';
import { team } from '../../state/team/team';
import {
  bodyOf,
  fieldOf,
  isRouted,
  lackOf,
  MORE_FIELDS,
  movesIn,
  NEW_WORKER,
  takesRepos,
  type DraftTrouble,
  type Place,
  type WorkerDraft,
} from '../../state/workers/draft';
import { Dialog } from '../parts/Dialog';
import { Choice, Line } from '../parts/Field';
import { Segments } from '../parts/Segments';
import { profileWords } from '../parts/words';
import { isUsable } from '../sandboxes/BlockedProfiles';
import { RepoRows } from './RepoRows';

interface CreateWorkerProps {
  /** The names of the workers that are there. */
  readonly taken: ReadonlySet<string>;
  readonly desktops: readonly Desktop[];
  readonly onClose: () => void;
}

/** What a draft chooses from. What could not be asked for is empty, and the server judges. */
interface Offered {
  readonly agents: readonly CatalogueAgent[];
  readonly profiles: readonly Profile[];
  readonly extensions: readonly Extension[];
  readonly known: readonly Repository[];
}

const NOTHING: Offered = { agents: [], profiles: [], extensions: [], known: [] };

function useOffered(): Offered {
  const [offered, setOffered] = useState(NOTHING);
  useEffect(() => {
    const take = (part: Partial<Offered>): void => setOffered((now) => ({ ...now, ...part }));
    const none = (): void => undefined;
    api.catalogue().then((all) => take({ agents: all.filter(({ machine }) => machine) }), none);
    api.profiles().then((all) => take({ profiles: all.filter(isUsable) }), none);
    api.extensions().then((all) => take({ extensions: all.filter((one) => one.available) }), none);
    api.repositories().then((known) => take({ known }), none);
  }, []);
  return offered;
}

export function CreateWorker({ taken, desktops, onClose }: CreateWorkerProps) {
  const offered = useOffered();
  const [draft, setDraft] = useState(NEW_WORKER);
  const [trouble, setTrouble] = useState<DraftTrouble | null>(null);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const at = (field: string): string | null => (trouble?.field === field ? trouble.text : null);

  function change(part: Partial<WorkerDraft>): void {
    setDraft((now) => ({ ...now, ...part }));
    setTrouble(null);
  }

  useEffect(() => {
    if (trouble === null) return;
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"], .form-trouble')?.focus();
  }, [trouble]);

  async function submit(): Promise<void> {
    const lack = lackOf(draft, taken);
    setTrouble(lack);
    if (lack !== null) return;
    setBusy(true);
    try {
      const made = await workersApi.create(bodyOf(draft, offered.known));
      notify(madeWords(made));
      onClose();
      goTo('workers', made.worker.worker_id);
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble({ field: fieldOf(reason.field, draft), text: reason.message });
      setBusy(false);
    }
  }

  return (
    <Dialog title={t`New worker`} onClose={onClose} wide>
      <form
        ref={form}
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {trouble?.field === null && (
          <p className="form-trouble" role="alert" tabIndex={-1}>
            {trouble.text}
          </p>
        )}
        <div className="form-row">
          <Line
            label={t`Name`}
            hint={t`Programs name it by this, such as docs`}
            value={draft.name}
            trouble={at('name')}
            onChange={(name) => change({ name })}
          />
          <AgentField agents={offered.agents} {...{ draft, at, change }} />
        </div>
        <PlaceFields {...{ draft, at, change, offered, desktops }} />
        {takesRepos(draft) && (
          <RepoRows
            repos={draft.repos}
            known={offered.known}
            at={at}
            onChange={(repos) => change({ repos })}
          />
        )}
        <Segments
          legend={t`Its agent`}
          choices={PERMISSIONS()}
          chosen={draft.permissions}
          onChoose={(permissions) => change({ permissions })}
        />
        {!movesIn(draft) && <Teardown {...{ draft, at, change }} />}
        <More
          key={String(MORE_FIELDS.includes(trouble?.field ?? ''))}
          open={MORE_FIELDS.includes(trouble?.field ?? '')}
          {...{ draft, at, change }}
        />
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-primary" disabled={busy}>
            {busy ? t`Creating…` : t`Create worker`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function madeWords({ worker, reattached, events_kept_for: kept }: WorkerMade): string {
  const { worker_id: id } = worker;
  if (reattached) return t`${id} was there, and is as it was created.`;
  return kept === null
    ? t`${id} starts. What its agent says is kept until you delete it.`
    : t`${id} starts. What its agent says is kept for ${kept}.`;
}

interface PartProps {
  readonly draft: WorkerDraft;
  readonly at: (field: string) => string | null;
  readonly change: (part: Partial<WorkerDraft>) => void;
}

const PERMISSIONS = worded(
  () =>
    [
      { value: 'ask', words: t`asks before it acts` },
      { value: 'allow', words: t`acts without asking` },
    ] as const,
);
const TEARDOWNS = worded(
  () =>
    [
      { value: 'retain', words: t`keep its sandbox` },
      { value: 'immediate', words: t`remove it at once` },
    ] as const,
);

function AgentField({
  agents,
  draft,
  at,
  change,
}: PartProps & { readonly agents: readonly CatalogueAgent[] }) {
  const { agent } = draft;
  const chosen = agents.find(({ name }) => name === agent);
  return (
    <Choice
      label={t`Agent`}
      hint={chosen === undefined ? '' : lackWords(chosen)}
      value={agent}
      trouble={at('agent')}
      onChange={(name) => change({ agent: name })}
    >
      {chosen === undefined && <option>{agent}</option>}
      {agents.map(({ name, state }) => (
        <option key={name} value={name}>
          {state === 'works' ? name : t`${name} (not ready here)`}
        </option>
      ))}
    </Choice>
  );
}

function lackWords({ state, reason, mend }: CatalogueAgent): string {
  if (state === 'works') return '';
  const why = reason ?? t`It is not ready here.`;
  return mend === null ? why : `${why} ${t`To mend it, ${mend}.`}`;
}

interface PlaceProps extends PartProps {
  readonly offered: Offered;
  readonly desktops: readonly Desktop[];
}

function PlaceFields({ draft, at, change, offered, desktops }: PlaceProps) {
  const ours = useStore(team);
  const inside = (useStore(sandboxes) ?? []).filter(
    (one) => ownerOf(ours, one) === null && STANDS.includes(one.state),
  );
  return (
    <div className="form-row">
      <Choice
        label={t`Where it runs`}
        value={draft.place}
        trouble={at('place')}
        grow
        onChange={(place) => change({ place: place as Place })}
      >
        <option value="">{t`as the policy says; a linked machine first`}</option>
        <option value="desktop" disabled={desktops.length === 0}>
          {desktops.length === 0
            ? t`on a linked machine (there is none)`
            : t`on a linked machine of mine`}
        </option>
        <option value="sandbox">{t`in a sandbox, never on a linked machine`}</option>
        {offered.extensions.length > 0 && (
          <optgroup label={t`On this backend alone`}>
            {offered.extensions.map(({ name }) => (
              <option key={name} value={`on:${name}`}>
                {name.replace(/^ext\./, '')}
              </option>
            ))}
          </optgroup>
        )}
        {inside.length > 0 && (
          <optgroup label={t`In a sandbox that is there`}>
            {inside.map(({ sandbox_id: id, name }) => (
              <option key={id} value={`in:${id}`}>
                {name}
              </option>
            ))}
          </optgroup>
        )}
      </Choice>
      {!movesIn(draft) && (
        <Choice
          label={t`Profile`}
          value={draft.profile}
          trouble={at('profile')}
          onChange={(profile) => change({ profile })}
        >
          <option value="">{t`the usual one of its agent`}</option>
          {offered.profiles.map(({ id }) => (
            <option key={id} value={id}>
              {profileWords(id)}
            </option>
          ))}
        </Choice>
      )}
    </div>
  );
}

/** States of sandboxes that a worker can move into. */
const STANDS: readonly Sandbox['state'][] = ['ready', 'active', 'stopped'];

function Teardown({ draft, at, change }: PartProps) {
  return (
    <div className="form-row worker-kept">
      <Segments
        legend={t`After a stop`}
        choices={TEARDOWNS()}
        chosen={draft.teardown}
        onChoose={(teardown) => change({ teardown })}
      />
      {draft.teardown === 'retain' && (
        <Line
          label={t`For`}
          hint={t`Such as 90m, 12h or 30d. Left empty: 7 days`}
          value={draft.keptFor}
          trouble={at('keptFor')}
          onChange={(keptFor) => change({ keptFor })}
        />
      )}
    </div>
  );
}

const LEVELS = worded(() => [
  { value: '', words: t`as the profile says` },
  { value: 'policy', words: t`at least a policy` },
  { value: 'container', words: t`at least a container` },
  { value: 'microvm', words: t`a machine of its own` },
]);

function More({ draft, at, change, open }: PartProps & { readonly open: boolean }) {
  return (
    <details className="composer-more" open={open}>
      <summary>{t`More`}</summary>
      <div className="form-row">
        <Line
          label={t`Conversation`}
          hint={t`The id of one to go on with. Left empty: a new one`}
          value={draft.thread}
          trouble={at('thread')}
          grow
          onChange={(thread) => change({ thread })}
        />
        {isRouted(draft) && (
          <>
            <Choice
              label={t`Isolation`}
              value={draft.isolation}
              trouble={at('isolation')}
              onChange={(level) => change({ isolation: level as WorkerDraft['isolation'] })}
            >
              {LEVELS().map(({ value, words }) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </Choice>
            <Line
              label={t`Only in region`}
              hint={t`Such as eu, which holds eu-1`}
              value={draft.region}
              trouble={at('region')}
              onChange={(region) => change({ region })}
            />
            <Line
              label={t`At most an hour`}
              hint={t`Such as 0.12 EUR`}
              value={draft.cost}
              trouble={at('cost')}
              onChange={(cost) => change({ cost })}
            />
          </>
        )}
      </div>
    </details>
  );
}
