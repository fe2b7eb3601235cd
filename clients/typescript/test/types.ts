/** What compiles, and what must not. It is compiled against the packed client, and never run. */
import { Atoll, type Answer } from 'atoll-client';
import type { WorkerSnapshotJson } from 'atoll-client/protocol';

const atoll = new Atoll({ url: 'https://atoll.example.com', token: 't' });

export async function compiles(): Promise<string[]> {
  const made = await atoll.post('/v1/sandboxes', { body: { profile: 'shell' } });
  const me: Answer<'get', '/v1/me'> = await atoll.get('/v1/me');
  const gone: null = await atoll.delete('/v1/kept/{kept}', { path: { kept: 'k' } });
  await atoll.put('/v1/sandboxes/{sandbox}/files/content', {
    path: { sandbox: 'b' },
    query: { path: 'a.txt' },
    body: 'text',
  });
  for await (const page of atoll.pages('/v1/sandboxes')) console.log(page.sandboxes[0]?.name);
  return [made.name, me.id, String(gone)];
}

export async function doesNotCompile(): Promise<void> {
  // @ts-expect-error no such path
  await atoll.get('/v1/nothing');
  // @ts-expect-error no such method there
  await atoll.put('/v1/me', {});
  // @ts-expect-error the name of the sandbox is missing
  await atoll.get('/v1/sandboxes/{sandbox}');
  // @ts-expect-error no such field
  await atoll.post('/v1/sandboxes', { body: { profil: 'shell' } });
  // @ts-expect-error no such word
  await atoll.post('/v1/sandboxes', { body: { network_mode: 'open' } });
  // @ts-expect-error an answer has no such field
  console.log((await atoll.get('/v1/me')).nothing);
}

// The types of the JSON are the words of the API.
export const snapshot: WorkerSnapshotJson = { worker_id: 'codexw_1', status: 'running', latest_seq: 7 };
// @ts-expect-error no such status
export const wrong: WorkerSnapshotJson = { worker_id: 'codexw_1', status: 'dozing' };
