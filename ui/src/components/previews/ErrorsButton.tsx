/** How many errors the page in a preview reports, and their list. */

import { plural, t } from '../../language/t';
import { countOf, type Reports } from '../../state/previews/reports';
import { visibleLines } from '../../unseen';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';

interface ErrorsButtonProps {
  readonly reports: Reports;
  readonly onClear: () => void;
  /** Hands the errors to an agent; null where this person may not. */
  readonly onSend: (() => void) | null;
}

export function ErrorsButton({ reports, onClear, onSend }: ErrorsButtonProps) {
  const count = countOf(reports);
  const label = reports.speaks
    ? plural(count, { one: '# error of the page', other: '# errors of the page' })
    : t`The page reports nothing`;
  const summary = (
    <>
      <Icon name="interrupt" />
      <span>{reports.speaks ? count : '–'}</span>
    </>
  );
  return (
    <Pop
      className={`button-icon preview-errors${count > 0 ? ' preview-erring' : ''}`}
      label={label}
      summary={summary}
    >
      {(close) => (
        <ErrorList
          {...{ reports, onClear }}
          onSend={
            onSend === null
              ? null
              : () => {
                  close();
                  onSend();
                }
          }
        />
      )}
    </Pop>
  );
}

function ErrorList({ reports: { speaks, errors, more }, onClear, onSend }: ErrorsButtonProps) {
  if (!speaks)
    return (
      <p className="quiet preview-silence">
        {t`This page reports no errors and lets nobody pick an element: its policy forbids the script for that, or it is compressed or no HTML.`}
      </p>
    );
  if (errors.length === 0) return <p className="quiet">{t`The page reports no errors.`}</p>;
  return (
    <div className="preview-error-list">
      <ul>
        {errors.map(({ source, text, times }) => (
          <li key={`${source} ${text}`}>
            <pre>{visibleLines(text)}</pre>
            {times > 1 && <span className="quiet">{`× ${times}`}</span>}
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p className="quiet">
          {plural(more, { one: '# further error', other: '# further errors' })}
        </p>
      )}
      <div className="preview-error-acts">
        {onSend !== null && (
          <button type="button" className="button button-small button-primary" onClick={onSend}>
            {t`Send to the agent`}
          </button>
        )}
        <button type="button" className="button button-small" onClick={onClear}>
          {t`Clear`}
        </button>
      </div>
    </div>
  );
}
