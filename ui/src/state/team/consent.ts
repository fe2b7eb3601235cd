/** The way back from Google's page: what it sent is in the address, and is handed in once. */

import { call } from '../../api/call';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../announce';

export const BACK = /^#drive=(.+)$/;

/** What Google sent and is not handed in yet; no longer than this page is open. */
let brought: URLSearchParams | null = null;

/** Takes what Google sent out of the address bar and the history; reports whether it did. */
export function takeConsent(): boolean {
  const found = BACK.exec(location.hash)?.[1];
  if (found === undefined) return false;
  history.replaceState(null, '', '#/secrets');
  brought = new URLSearchParams(found);
  return true;
}

/** Connects the drive of the person who is logged in by what Google sent, if it sent anything. */
export async function finishConsent(): Promise<void> {
  if (brought === null) return;
  const body = { state: brought.get('state') ?? '', code: brought.get('code') ?? '' };
  brought = null;
  try {
    await call('POST', '/v1/drive/connection', body);
    notify(t`Your Google Drive is connected.`);
  } catch (reason) {
    notifyFailure(t`Google Drive is not connected`)(reason);
  }
}
