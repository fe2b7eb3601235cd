/** Files on their way from the clipboard or a drop into the sandbox: names, bounds and paths. */

import { sandboxAt, upload } from '../../api/call';
import { t } from '../../language/t';

/** In the workspace; an ignore file of its own keeps it out of `git status`. */
const FOLDER = '.atoll-uploads';
export const WORKSPACE = '/workspace';
const FILES_MAX = 20;
const BYTES_MAX = 100 * 1024 * 1024;
const NAME_MAX = 80;

/** A name that needs no quoting at any shell, and is not hidden. */
export function plainName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^[._-]+/, '');
  return plain.slice(-NAME_MAX) || 'file';
}

/** Why these may not be uploaded, or null. */
export function uploadRefusal(files: readonly Pick<File, 'size'>[]): string | null {
  if (files.length > FILES_MAX) return t`At most ${FILES_MAX} files can be dropped at once.`;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return bytes > BYTES_MAX ? t`Files of more than 100 MiB are brought in by atoll cp.` : null;
}

/** The time to a millisecond: two uploads take no file from each other. */
const stampNow = (): string => new Date().toISOString().replace(/\D/g, '').slice(2, 17);

/** Uploads the files, each under a name of its own. Returns their absolute paths. */
export async function uploadFiles(
  sandboxId: string,
  files: readonly File[],
): Promise<readonly string[]> {
  const stamp = stampNow();
  await put(sandboxId, '.gitignore', new Blob(['*\n']));
  const paths: string[] = [];
  for (const [i, file] of files.entries()) {
    const name = `${stamp}${i === 0 ? '' : `-${i}`}-${plainName(file.name)}`;
    await put(sandboxId, name, file);
    paths.push(`${WORKSPACE}/${FOLDER}/${name}`);
  }
  return paths;
}

async function put(sandboxId: string, name: string, body: Blob): Promise<void> {
  const path = encodeURIComponent(`${FOLDER}/${name}`);
  await upload(`${sandboxAt(sandboxId)}/files/content?path=${path}&parents=true`, body);
}
