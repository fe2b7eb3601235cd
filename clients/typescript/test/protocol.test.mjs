/** The messages of workers read what the Python side reads, and lose nothing of it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fromJson, toJson } from '@bufbuild/protobuf';
import * as protocol from 'atoll-client/protocol';

const FILES = ['admin', 'auth', 'events', 'sandbox', 'workers'];

const samples = (file) => JSON.parse(readFileSync(`${process.env.ATOLL_SAMPLES}/${file}.json`, 'utf8'));

for (const file of FILES) {
  for (const [index, { message, json }] of samples(file).entries()) {
    test(`sample ${index} of codex_${file}, ${message}, comes back as it was`, () => {
      const type = protocol[`${message}Schema`];
      assert.deepEqual(toJson(type, fromJson(type, json)), json);
    });
  }
}

test('the payload of an event is one of its kinds', () => {
  const event = fromJson(protocol.WorkerEventSchema, samples('events')[0].json);
  assert.equal(event.seq, 1);
  assert.equal(event.payload.payload.case, 'started');
});

test('what is not in the schema is refused', () => {
  for (const json of [{ stranger: 1 }, { status: 'asleep' }, { latest_seq: -1 }]) {
    assert.throws(() => fromJson(protocol.WorkerSnapshotSchema, json));
  }
});
