/** A table out of a text; only the rows on the screen are drawn. */

import { useMemo } from 'react';
import { t } from '../../../language/t';
import { visible } from '../../../unseen';
import { variables, VirtualRows } from '../VirtualRows';
import { tableOf, widthsOf } from './csv';

const ROW = 28;
const WIDTH_MAX = 40;
/** Characters shown of one field. */
const FIELD_MAX = 300;

export function TablePane({ text }: { readonly text: string }) {
  const table = useMemo(() => tableOf(text), [text]);
  const columns = useMemo(
    () =>
      widthsOf(table, WIDTH_MAX)
        .map((width) => `${width + 3}ch`)
        .join(' '),
    [table],
  );
  return (
    <>
      <VirtualRows
        className="viewer-table"
        role="table"
        aria-label={t`Table`}
        aria-rowcount={table.rows.length}
        aria-colcount={table.columns}
        tabIndex={0}
        style={variables({ '--columns': `7ch ${columns}` })}
        count={table.rows.length}
        height={ROW}
        render={(row) => (
          <div
            key={row}
            className={row === 0 ? 'viewer-record viewer-first' : 'viewer-record'}
            role="row"
            aria-rowindex={row + 1}
          >
            <span role="rowheader" className="viewer-number">
              {row + 1}
            </span>
            {(table.rows[row] ?? []).map((field, i) => (
              <span key={i} role="cell" title={visible(field.slice(0, FIELD_MAX))}>
                {visible(field.slice(0, FIELD_MAX))}
              </span>
            ))}
          </div>
        )}
      />
      {table.cut && (
        <p className="viewer-note quiet">{t`Not all rows and columns are shown: read its source.`}</p>
      )}
    </>
  );
}
