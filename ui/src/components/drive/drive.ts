/** The calls of a person's Google Drive, and the way back from Google's page. */

import { call, sandboxAt } from '../../api/call';
import type { Schemas } from '../../api/types';

export type Drive = Schemas['DriveView'];
export type DriveFile = Schemas['DriveFileView'];
export type DrivePage = Schemas['DriveFileList'];
export type DriveImport = Schemas['DriveImportBody'];
export type DriveExport = Schemas['DriveExportBody'];

/** A page of a folder, or of everything whose name holds a text. */
export interface DriveQuery {
  readonly folder: string;
  readonly name: string;
  readonly cursor: string;
}

/** How many files a page has. */
const LIMIT = 100;

export const drives = {
  get: () => call('GET', '/v1/drive') as Promise<Drive>,
  /** Where the person consents. */
  async consent(): Promise<string> {
    return ((await call('POST', '/v1/drive/connect')) as Schemas['ConsentView']).url;
  },
  finish: (body: Schemas['ConsentBody']) =>
    call('POST', '/v1/drive/connection', body) as Promise<Drive>,
  disconnect: () => call('DELETE', '/v1/drive/connection') as Promise<Schemas['DisconnectedView']>,
  files({ folder, name, cursor }: DriveQuery): Promise<DrivePage> {
    // A name is searched in all folders.
    const where = name === '' ? { folder } : { name };
    const query = new URLSearchParams({ ...where, limit: String(LIMIT) });
    if (cursor !== '') query.set('cursor', cursor);
    return call('GET', `/v1/drive/files?${query}`) as Promise<DrivePage>;
  },
  bring: (sandbox: string, body: DriveImport) =>
    call('POST', `${sandboxAt(sandbox)}/drive/import`, body) as Promise<Schemas['FileEntry']>,
  send: (sandbox: string, body: DriveExport) =>
    call('POST', `${sandboxAt(sandbox)}/drive/export`, body) as Promise<DriveFile>,
};

/** Google's address is opened only if it is https, whatever the server says. */
export function openConsent(url: string): void {
  if (new URL(url).protocol !== 'https:') throw new Error('This is no address of Google.');
  location.assign(url);
}
