/** Marks a sandbox that holds the value of a secret itself. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';

export function ExposedMark({ sandbox }: { readonly sandbox: Sandbox }) {
  const names = sandbox.exposed_secrets;
  if (names.length === 0) return null;
  const words = t`Holds the value of ${names.join(', ')}: everything inside can read it`;
  return (
    <span className="badge badge-bad" title={words}>
      {t`exposed`}
      <span className="spoken">. {words}</span>
    </span>
  );
}
