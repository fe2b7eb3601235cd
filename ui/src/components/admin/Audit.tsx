/** The audit log: found by actor, kind, stream and time, and saved as a file. */

import { useEffect, useState } from 'react';
import { overviewApi, type AuditEntry, type AuditQuery } from '../../api/overview';
import { t, worded } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { useStore } from '../../state/store';
import { memberName } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Icon } from '../parts/icons';
import { Failed } from './Failed';

const NONE: AuditQuery = { actor: '', kind: '', stream: '', since: '', until: '' };

const KINDS = worded(() => [
  { value: 'sandbox.', words: t`Sandboxes` },
  { value: 'agent.', words: t`Agents` },
  { value: 'approval.', words: t`Approvals` },
  { value: 'secret.', words: t`Secrets` },
  { value: 'auth.', words: t`Logins` },
  { value: 'member.', words: t`Members` },
  { value: 'token.', words: t`Tokens` },
  { value: 'share.', words: t`Share links` },
  { value: 'webhook.', words: t`Webhooks` },
  { value: 'quota.', words: t`Quotas` },
  { value: 'git.', words: t`Git` },
  { value: 'network.', words: t`Network` },
]);
const WAIT_MS = 250;

interface Found {
  readonly key: string;
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  readonly previous: number | null;
}

export function Audit() {
  const [query, setQuery] = useState(NONE);
  const [found, setFound] = useState<Found | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const key = JSON.stringify(query);

  useEffect(() => {
    let gone = false;
    const timer = window.setTimeout(() => {
      overviewApi.audit(JSON.parse(key) as AuditQuery, null).then(
        ({ entries, previous }) => {
          if (gone) return;
          setFound({ key, entries: entries.toReversed(), previous });
          setProblem(null);
        },
        (reason: unknown) => {
          if (!gone) setProblem(reason instanceof Error ? reason.message : String(reason));
        },
      );
    }, WAIT_MS);
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, [key, attempt]);

  async function more(): Promise<void> {
    if (found?.previous === null || found?.previous === undefined) return;
    setBusy(true);
    try {
      const { entries, previous } = await overviewApi.audit(query, found.previous);
      setFound((now) =>
        now?.key === found.key
          ? { ...now, entries: [...now.entries, ...entries.toReversed()], previous }
          : now,
      );
    } catch (reason) {
      notifyFailure(t`Earlier entries could not be loaded`)(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <>
      <AuditFilters query={query} onChange={(next) => setQuery({ ...query, ...next })} />
      {problem !== null && (
        <Failed
          what={t`The audit log`}
          problem={problem}
          onRetry={() => setAttempt((now) => now + 1)}
        />
      )}
      {found === null && problem === null && (
        <p className="quiet" role="status">
          {t`Loading…`}
        </p>
      )}
      {found !== null && (
        <ol className="audit" aria-label={t`Audit entries`} aria-busy={found.key !== key}>
          {found.entries.map((entry) => (
            <Entry
              key={entry.n}
              entry={entry}
              onFilter={(next) => setQuery({ ...query, ...next })}
            />
          ))}
        </ol>
      )}
      {found?.entries.length === 0 && found.previous === null && (
        <p className="empty">{t`Nothing fits. Entries are kept for the time that \`audit_days\` sets.`}</p>
      )}
      {found !== null && found.previous !== null && (
        <button
          type="button"
          className="button audit-more"
          disabled={busy}
          onClick={() => void more()}
        >
          {busy ? t`Looking…` : t`Look further back`}
        </button>
      )}
    </>
  );
}

interface FiltersProps {
  readonly query: AuditQuery;
  readonly onChange: (next: Partial<AuditQuery>) => void;
}

function AuditFilters({ query, onChange }: FiltersProps) {
  const people = useStore(team)?.members ?? [];
  const [saving, setSaving] = useState(false);
  const filtered = Object.values(query).some((one) => one !== '');

  async function save(): Promise<void> {
    setSaving(true);
    try {
      const blob = await overviewApi.exportAudit(query);
      const link = document.createElement('a');
      link.href = URL.createObjectURL(blob);
      link.download = `audit-${new Date().toISOString().slice(0, 10)}.jsonl`;
      link.click();
      window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (reason) {
      notifyFailure(t`Not exported`)(reason);
    } finally {
      setSaving(false);
    }
  }

  return (
    <div className="audit-filters">
      <label>
        <span>{t`Kind`}</span>
        <select value={query.kind} onChange={(event) => onChange({ kind: event.target.value })}>
          <option value="">{t`All`}</option>
          {KINDS().map(({ value, words }) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>{t`Actor`}</span>
        <input
          list="audit-actors"
          placeholder={t`Anybody`}
          maxLength={200}
          value={query.actor}
          onChange={(event) => onChange({ actor: event.target.value.trim() })}
        />
        <datalist id="audit-actors">
          {people.map(({ member_id: id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </datalist>
      </label>
      <label>
        <span>{t`Subject`}</span>
        <input
          placeholder={t`sandbox:sb_…`}
          maxLength={300}
          value={query.stream}
          onChange={(event) => onChange({ stream: event.target.value.trim() })}
        />
      </label>
      <label>
        <span>{t`From`}</span>
        <input
          type="date"
          value={query.since}
          onChange={(event) => onChange({ since: event.target.value })}
        />
      </label>
      <label>
        <span>{t`To`}</span>
        <input
          type="date"
          value={query.until}
          onChange={(event) => onChange({ until: event.target.value })}
        />
      </label>
      <div className="audit-acts">
        {filtered && (
          <button type="button" className="button button-small" onClick={() => onChange(NONE)}>
            {t`Clear`}
          </button>
        )}
        <button
          type="button"
          className="button button-small"
          disabled={saving}
          onClick={() => void save()}
        >
          {saving ? t`Exporting…` : filtered ? t`Export these` : t`Export all`}
        </button>
      </div>
    </div>
  );
}

interface EntryProps {
  readonly entry: AuditEntry;
  readonly onFilter: (next: Partial<AuditQuery>) => void;
}

function Entry({ entry, onFilter }: EntryProps) {
  const ours = useStore(team);
  const [open, setOpen] = useState(false);
  const { n, event_type: kind, actor_id: actor, stream, at, reason, payload } = entry;
  const name = typeof payload['name'] === 'string' ? payload['name'] : null;
  return (
    <li className="audit-entry">
      <div className="audit-line">
        <time dateTime={at} className="audit-at">
          {new Date(at).toLocaleString()}
        </time>
        <button
          type="button"
          className="button-link audit-actor"
          title={t`Only what ${actor} did`}
          onClick={() => onFilter({ actor })}
        >
          {memberName(ours, actor)}
        </button>
        <span className="audit-kind">{kind}</span>
        {name !== null && <span className="audit-name">{name}</span>}
        <button
          type="button"
          className="button-icon audit-open"
          aria-expanded={open}
          aria-label={t`Entry ${n}`}
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? 'up' : 'down'} />
        </button>
      </div>
      {reason !== null && <p className="quiet audit-reason">{reason}</p>}
      {open && (
        <dl className="audit-fields">
          <dt>{t`Subject`}</dt>
          <dd>
            <button
              type="button"
              className="button-link"
              title={t`Only this subject`}
              onClick={() => onFilter({ stream })}
            >
              {stream}
            </button>
          </dd>
          <dt>{t`Actor`}</dt>
          <dd>
            {actor} ({entry.actor_kind})
          </dd>
          {entry.address !== '' && (
            <>
              <dt>{t`Address`}</dt>
              <dd>{entry.address}</dd>
            </>
          )}
          {entry.token_id !== '' && (
            <>
              <dt>{t`Token`}</dt>
              <dd>{entry.token_id}</dd>
            </>
          )}
          <dt>{t`What`}</dt>
          <dd>
            <code>{JSON.stringify(payload)}</code>
          </dd>
          <dt>{t`Entry`}</dt>
          <dd>
            {n} · <code>{entry.hash.slice(0, 16)}…</code>
          </dd>
        </dl>
      )}
    </li>
  );
}
