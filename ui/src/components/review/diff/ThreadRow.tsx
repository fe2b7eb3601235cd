/** A thread between the lines of a diff: what was said, by whom, and what may be done with it. */

import { useMemo } from 'react';
import { t } from '../../../language/t';
import { useStore } from '../../../state/store';
import { memberName } from '../../../state/team/rights';
import { team } from '../../../state/team/team';
import { useRights } from '../../../state/team/useRights';
import { visible, visibleLines } from '../../../unseen';
import { lastWords, threads, type Remark, type ReviewThread } from '../threads';
import { heightOf, type ThreadRowData } from './rows';
import { answerTo, type Editing } from './useLines';

/** What this person may do with threads, beside answering them. */
export interface ThreadActs {
  readonly resolve: (thread: ReviewThread, resolved: boolean) => void;
  readonly withdraw: (thread: ReviewThread, remark: Remark) => void;
  readonly mayReword: (remark: Remark) => boolean;
  readonly mayWithdraw: (remark: Remark) => boolean;
}

/** The acts of this person; null for whoever only reads. */
export function useThreadActs(id: string): ThreadActs | null {
  const { works, manages } = useRights(id);
  const me = useStore(team)?.me ?? 'person';
  return useMemo(
    () =>
      works
        ? {
            resolve: (thread, resolved) => void threads.resolve(id, thread, resolved),
            withdraw: (thread, remark) => void threads.withdraw(id, thread, remark),
            mayReword: ({ author }) => author === me,
            mayWithdraw: ({ author }) => manages || author === me,
          }
        : null,
    [id, works, manages, me],
  );
}

interface ThreadRowProps {
  readonly row: ThreadRowData;
  readonly mark: string;
  readonly acts: ThreadActs | null;
  readonly onEdit: ((at: Editing | null) => void) | null;
}

export function ThreadRow({ row, mark, acts, onEdit }: ThreadRowProps) {
  const { thread } = row.placed;
  return (
    <div
      className={`diff-thread${mark}${thread.resolved === null ? '' : ' diff-resolved'}`}
      style={{ height: heightOf(row) }}
      role="group"
      aria-label={t`Thread`}
    >
      {row.lost && <p className="quiet diff-lost">{whereOf(thread)}</p>}
      {thread.resolved === null ? (
        <OpenThread {...{ row, acts, onEdit }} />
      ) : (
        <ResolvedThread thread={thread} acts={acts} />
      )}
    </div>
  );
}

function OpenThread({ row, acts, onEdit }: Omit<ThreadRowProps, 'mark'>) {
  const { thread } = row.placed;
  const edit = (remark?: Remark) => onEdit?.(answerTo(row, remark));
  return (
    <>
      <ul className="diff-remarks" tabIndex={0} aria-label={t`Remarks`}>
        {thread.remarks.map((remark) => (
          <li key={remark.remark_id}>
            <p>
              <AuthorName remark={remark} /> {visibleLines(remark.text)}
              {remark.edited_at !== null && <span className="quiet"> {t`(edited)`}</span>}
            </p>
            {onEdit !== null && acts?.mayReword(remark) === true && (
              <button
                type="button"
                className="button button-small"
                onClick={() => edit(remark)}
              >{t`Edit`}</button>
            )}
            {acts?.mayWithdraw(remark) === true && (
              <button
                type="button"
                className="button button-small"
                onClick={() => acts.withdraw(thread, remark)}
              >{t`Remove`}</button>
            )}
          </li>
        ))}
      </ul>
      <div className="diff-thread-acts">
        {onEdit !== null && (
          <button
            type="button"
            className="button button-small"
            onClick={() => edit()}
          >{t`Reply`}</button>
        )}
        {acts !== null && (
          <button
            type="button"
            className="button button-small"
            onClick={() => acts.resolve(thread, true)}
          >{t`Resolve`}</button>
        )}
        <SentMark thread={thread} />
      </div>
    </>
  );
}

interface ResolvedThreadProps {
  readonly thread: ReviewThread;
  readonly acts: ThreadActs | null;
}

function ResolvedThread({ thread, acts }: ResolvedThreadProps) {
  const { resolved } = thread;
  const name = useName(resolved?.by ?? '', resolved?.by_name ?? null);
  return (
    <div className="diff-thread-acts">
      <span className="review-tick">{t`Resolved by ${name}`}</span>
      <span className="quiet diff-last">{visible(lastWords(thread))}</span>
      {acts !== null && (
        <button
          type="button"
          className="button button-small"
          onClick={() => acts.resolve(thread, false)}
        >{t`Open again`}</button>
      )}
    </div>
  );
}

/** Whether an agent has a thread, and who sent it. */
export function SentMark({ thread: { sent, unsent } }: { readonly thread: ReviewThread }) {
  const name = useName(sent?.by ?? '', sent?.by_name ?? null);
  if (sent === null) return null;
  return (
    <span className="quiet">
      {unsent ? t`Said since it was sent to ${sent.agent}` : t`Sent to ${sent.agent} by ${name}`}
    </span>
  );
}

/** Who said something; hovered, when. */
export function AuthorName({ remark }: { readonly remark: Remark }) {
  const name = useName(remark.author, remark.author_name);
  return <strong title={new Date(remark.at).toLocaleString()}>{name}</strong>;
}

/** What somebody is called: as they are now, else as they were then. */
function useName(id: string, then: string | null): string {
  const ours = useStore(team);
  const now = memberName(ours, id);
  return visible(now === id ? (then ?? id) : now);
}

/** Where a thread was that is not shown at a line. */
function whereOf({ line, lines }: ReviewThread): string {
  if (line === 0) return t`About the whole file`;
  return t`Line ${line} is not shown any more: ${visible(lines[0] ?? '').trim()}`;
}
