/** The client against a server: `ATOLL_URL` and `ATOLL_TOKEN` name it, `ATOLL_SANDBOX` one of it. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { Atoll, AtollError } from 'atoll-client';

const { ATOLL_URL: url, ATOLL_TOKEN: token, ATOLL_SANDBOX: sandbox } = process.env;
const atoll = new Atoll({ url, token });

async function refused(call) {
  const error = await call.then(
    () => null,
    (thrown) => thrown,
  );
  assert.ok(error instanceof AtollError, String(error));
  return error;
}

async function listening(answer) {
  const server = createServer(answer);
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return {
    atoll: new Atoll({ url: `http://127.0.0.1:${server.address().port}`, token: 't' }),
    close: () => server.close(() => undefined),
  };
}

test('a call returns the typed answer', async () => {
  const found = await atoll.get('/v1/sandboxes/{sandbox}', { path: { sandbox } });
  assert.equal(found.name, sandbox);
});

test('a body is sent, and an empty answer is null', async () => {
  const done = await atoll.post('/v1/sandboxes/{sandbox}/exec', {
    path: { sandbox },
    body: { argv: ['true'] },
  });
  assert.equal(typeof done.exec_id, 'string');
  const path = { sandbox };
  assert.equal(
    await atoll.delete('/v1/sandboxes/{sandbox}/files', { path, query: { path: 'x' } }),
    null,
  );
});

test('pages follow each other', async () => {
  for (const name of ['two', 'three']) {
    await atoll.post('/v1/sandboxes', { body: { profile: 'shell', name }, idempotencyKey: name });
  }
  const names = [];
  for await (const page of atoll.pages('/v1/sandboxes', { query: { limit: 1 } })) {
    names.push(...page.sandboxes.map((one) => one.name));
  }
  assert.deepEqual(names.sort(), [sandbox, 'three', 'two'].sort());
});

test('a refusal has status, code and request id', async () => {
  const error = await refused(
    atoll.get('/v1/sandboxes/{sandbox}', { path: { sandbox: 'nobody' } }),
  );
  assert.deepEqual([error.status, error.code], [404, 'not_found']);
  assert.match(error.requestId, /^[0-9a-f-]{36}$/);
  const other = new Atoll({ url, token: 'wrong' });
  assert.equal((await refused(other.get('/v1/me'))).status, 401);
});

test('a name never becomes a path', async () => {
  const get = (name) => atoll.get('/v1/sandboxes/{sandbox}', { path: { sandbox: name } });
  assert.ok([404, 422].includes((await refused(get('../me'))).status));
  for (const name of ['', '.', '..']) await assert.rejects(get(name), TypeError);
});

test('events begin after a position and resume', async () => {
  const kinds = [];
  let position = 0;
  for await (const event of atoll.events({ after: 0 })) {
    kinds.push(event.event_type);
    position = event.position;
    if (kinds.length === 2) break;
  }
  assert.equal(kinds[0], 'sandbox.requested');
  for await (const event of atoll.events({ after: position })) {
    assert.equal(event.position, position + 1);
    break;
  }
});

test('a server that is gone is an error of status 0', async () => {
  const gone = new Atoll({
    url: 'http://127.0.0.1:1',
    token: 't',
    retries: { attempts: 1, longestSeconds: 1 },
  });
  assert.deepEqual([(await refused(gone.get('/v1/me'))).code], ['unreachable']);
});

test('Retry-After is waited for, also by a POST, and the id stays', async () => {
  const ids = [];
  const { atoll, close } = await listening((request, answer) => {
    ids.push(request.headers['x-request-id']);
    if (ids.length < 3)
      answer.writeHead(429, { 'Retry-After': '0' }).end('{"code":"rate_limited"}');
    else answer.writeHead(200).end('{"name":"x"}');
  });
  await atoll.post('/v1/sandboxes', { body: { profile: 'shell' } });
  close();
  assert.equal(ids.length, 3);
  assert.equal(new Set(ids).size, 1);
});

test('a POST whose end nobody knows is not repeated, and no redirect is followed', async () => {
  const seen = [];
  const { atoll, close } = await listening((request, answer) => {
    seen.push(`${request.method} ${request.url}`);
    if (request.method === 'POST') answer.writeHead(503, { 'Retry-After': '1' }).end();
    else answer.writeHead(307, { Location: '/elsewhere' }).end();
  });
  assert.equal((await refused(atoll.post('/v1/sandboxes', { body: {} }))).status, 503);
  assert.equal(seen.length, 1);
  await refused(atoll.get('/v1/me', { signal: AbortSignal.timeout(3_000) }));
  close();
  assert.ok(!seen.includes('GET /elsewhere'));
});
