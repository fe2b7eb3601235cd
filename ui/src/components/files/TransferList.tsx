/** What is on its way in or out, how far it is, and a way to end it. */

import { t } from '../../language/t';
import { sizeWords } from '../parts/words';
import { visible } from '../../unseen';
import { dismissTransfer, type Transfer } from './transfers';

export function TransferList({ running }: { readonly running: readonly Transfer[] }) {
  if (running.length === 0) return null;
  return (
    <ul className="files-transfers" aria-label={t`Transfers`}>
      {running.map((one) => (
        <li key={one.id}>
          <span className="files-name">{visible(one.words)}</span>
          {one.state === 'failed' ? (
            <span className="files-failed" role="alert">
              {visible(one.problem ?? '')}
            </span>
          ) : (
            <Progress transfer={one} />
          )}
          {one.state !== 'done' && (
            <button
              type="button"
              className="button button-small"
              onClick={() => (one.state === 'failed' ? dismissTransfer(one.id) : one.cancel())}
            >
              {one.state === 'failed' ? t`Dismiss` : t`Cancel`}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Progress({ transfer: { words, done, total, state } }: { readonly transfer: Transfer }) {
  if (state === 'done') return <span className="files-side">{t`done`}</span>;
  // A tar is a little larger than what is in it.
  const most = total === null ? undefined : Math.max(total, done, 1);
  return (
    <>
      <progress
        aria-label={visible(words)}
        value={most === undefined ? undefined : done}
        max={most}
      />
      <span className="files-side">
        {total === null ? sizeWords(done) : t`${sizeWords(done)} of ${sizeWords(total)}`}
      </span>
    </>
  );
}
