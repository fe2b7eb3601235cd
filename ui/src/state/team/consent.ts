/** The way back from Google's page: what it sent is in the address, and is handed in once. */

import { call } from '../../api/call';
import { notify, notifyFailure } from '../announce';

export const BACK = /^#drive=(.+)$/;

/** Takes what Google sent out of the address bar and the history; null where there is nothing. */
export function takeConsent(): URLSearchParams | null {
  const brought = BACK.exec(location.hash)?.[1];
  if (brought === undefined) return null;
  history.replaceState(null, '', '#/secrets');
  return new URLSearchParams(brought);
}

/** Connects the drive of the person who is logged in by what Google sent. */
export async function finishConsent(brought: URLSearchParams): Promise<void> {
  const body = { state: brought.get('state') ?? '', code: brought.get('code') ?? '' };
  try {
    await call('POST', '/v1/drive/connection', body);
    notify('Your Google Drive is connected.');
  } catch (reason) {
    notifyFailure('Google Drive is not connected')(reason);
  }
}
