/** Quotas beside what is held: everybody sees their own, administrators change all. */

import { useEffect, useState } from 'react';
import { Problem } from '../../api/call';
import { teamApi, type HeldQuota, type QuotaBody } from '../../api/team';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { useStore } from '../../state/store';
import { LIMITS, partOf } from '../../state/team/quota';
import { mayAdminister, type Team } from '../../state/team/rights';
import { teamMoved } from '../../state/team/team';
import { Dialog } from '../parts/Dialog';
import { Field } from '../parts/Field';

export function Quotas({ ours }: { readonly ours: Team }) {
  const organization = ours.organization.organization_id;
  const administers = mayAdminister(ours);
  const [list, setList] = useState<readonly HeldQuota[]>([]);
  const [editing, setEditing] = useState<HeldQuota | null>(null);
  const moved = useStore(teamMoved);

  useEffect(() => {
    const [own, others] = [teamApi.ownQuotas(), administers ? teamApi.quotas(organization) : null];
    Promise.all([own, others]).then(
      ([mine, all]) => {
        const known = new Set(mine.map(({ member }) => member));
        setList([...mine, ...(all ?? []).filter(({ member }) => !known.has(member))]);
      },
      notifyFailure(t`The quotas could not be listed`),
    );
  }, [organization, administers, moved]);
  const without = ours.members.filter(
    ({ member_id: id }) => !list.some(({ member }) => member === id),
  );

  return (
    <section>
      <h2>{t`Quotas`}</h2>
      <div className="quotas">
        {list.map((held) => (
          <Quota
            key={held.member ?? ''}
            held={held}
            words={whose(ours, held.member)}
            onEdit={administers ? () => setEditing(held) : null}
          />
        ))}
      </div>
      {administers && without.length > 0 && (
        <label className="team-other">
          {t`Limit another member`}
          <select
            value=""
            onChange={(event) => {
              const none = Object.fromEntries(LIMITS().map(({ key }) => [key, null]));
              const quota = none as HeldQuota['quota'];
              if (event.target.value !== '')
                setEditing({ member: event.target.value, quota, used: quota });
            }}
          >
            <option value="">{t`Choose…`}</option>
            {without.map(({ member_id: id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {editing !== null && (
        <QuotaDialog
          organization={organization}
          held={editing}
          words={whose(ours, editing.member)}
          onClose={() => setEditing(null)}
        />
      )}
    </section>
  );
}

function whose(ours: Team, member: string | null): string {
  if (member === null) return ours.organization.name;
  if (member === ours.me) return t`You`;
  return ours.members.find(({ member_id: id }) => id === member)?.name ?? member;
}

interface QuotaProps {
  readonly held: HeldQuota;
  readonly words: string;
  readonly onEdit: (() => void) | null;
}

function Quota({ held: { quota, used }, words, onEdit }: QuotaProps) {
  return (
    <div className="quota">
      <div className="team-head">
        <h3>{words}</h3>
        {onEdit !== null && (
          <button
            type="button"
            className="button button-small"
            aria-label={t`Edit the quota of ${words}`}
            onClick={onEdit}
          >
            {t`Edit`}
          </button>
        )}
      </div>
      <dl>
        {LIMITS().map(({ key, words: what }) => (
          <div key={key} className="quota-line">
            <dt>{what}</dt>
            <dd>
              {used[key] ?? 0}
              {quota[key] === null ? (
                <span className="quiet"> {t`no limit`}</span>
              ) : (
                ` ${t`of ${quota[key]}`}`
              )}
            </dd>
            <Bar part={partOf(used[key], quota[key])} />
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Decoration: the words beside it say it. */
function Bar({ part }: { readonly part: number | null }) {
  if (part === null) return null;
  return (
    <dd className={part >= 1 ? 'quota-bar quota-full' : 'quota-bar'} aria-hidden="true">
      <span style={{ width: `${Math.round(part * 100)}%` }} />
    </dd>
  );
}

interface DialogProps {
  readonly organization: string;
  readonly held: HeldQuota;
  readonly words: string;
  readonly onClose: () => void;
}

function QuotaDialog({ organization, held, words, onClose }: DialogProps) {
  const [draft, setDraft] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(LIMITS().map(({ key }) => [key, String(held.quota[key] ?? '')])),
  );
  const [trouble, setTrouble] = useState<{ field: string | null; text: string } | null>(null);
  const known = LIMITS().some(({ key }) => key === trouble?.field);

  async function save(): Promise<void> {
    const entries = LIMITS().flatMap(({ key }) => {
      const text = (draft[key] ?? '').trim();
      if (text === '') return [];
      return [[key, key === 'sandboxes' || key === 'concurrentSessions' ? Number(text) : text]];
    });
    try {
      const body = Object.fromEntries(entries) as QuotaBody;
      await teamApi.setQuota(organization, held.member, body);
      notify(t`The quota of ${words} is set. What is held beyond it stays.`);
      teamMoved.set((now) => now + 1);
      onClose();
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble({ field: reason.field, text: reason.message });
    }
  }

  return (
    <Dialog title={t`Quota of ${words}`} onClose={onClose}>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {trouble !== null && !known && (
          <p className="form-trouble" role="alert">
            {trouble.text}
          </p>
        )}
        {LIMITS().map(({ key, words: what, hint }) => (
          <Field
            key={key}
            label={what}
            hint={t`${hint}; left empty: no limit`}
            trouble={trouble?.field === key ? trouble.text : null}
          >
            {(wiring) => (
              <input
                {...wiring}
                autoComplete="off"
                value={draft[key] ?? ''}
                onChange={(event) => setDraft((now) => ({ ...now, [key]: event.target.value }))}
              />
            )}
          </Field>
        ))}
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button type="submit" className="button button-primary">
            {t`Set the quota`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
