/** What a sandbox's repositories have and it does not: submodules and LFS objects, and how they
 * come. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';

const SHOWN = 5;

export function LeftOutNote({ sandbox }: { readonly sandbox: Sandbox }) {
  const lacking = sandbox.repos.filter(
    ({ submodules, lfs_files: files }) => submodules.length > 0 || files > 0,
  );
  if (lacking.length === 0) return null;
  return (
    <div role="status" aria-label={t`Not brought along`}>
      {lacking.map(({ path, submodules, lfs_files: files }) => (
        <p key={path} className="setup-note">
          {submodules.length > 0 &&
            t`Submodules of ${path} are not laid out (${namesOf(submodules)}): ${(<code>git submodule update --init --recursive</code>)} brings them.`}{' '}
          {files > 0 &&
            t`LFS files of ${path} that are pointers: ${files}. ${(<code>git lfs pull</code>)} brings them.`}
        </p>
      ))}
    </div>
  );
}

function namesOf(paths: readonly string[]): string {
  const more = paths.length - SHOWN;
  return [...paths.slice(0, SHOWN), ...(more > 0 ? [t`and ${more} more`] : [])].join(', ');
}
