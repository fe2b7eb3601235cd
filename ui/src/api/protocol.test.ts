/** The generated messages of workers read what the Python side reads, and lose nothing of it. */
import { readFileSync } from 'node:fs';
import { fromJson, toJson, type DescMessage, type JsonValue } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { file_atoll_protocol_v1_codex_admin as admin } from '../made/atoll/protocol/v1/codex_admin_pb.ts';
import { file_atoll_protocol_v1_codex_auth as auth } from '../made/atoll/protocol/v1/codex_auth_pb.ts';
import {
  file_atoll_protocol_v1_codex_events as events,
  WorkerEventSchema,
} from '../made/atoll/protocol/v1/codex_events_pb.ts';
import { file_atoll_protocol_v1_codex_sandbox as sandbox } from '../made/atoll/protocol/v1/codex_sandbox_pb.ts';
import {
  file_atoll_protocol_v1_codex_workers as workers,
  type WorkerSnapshotJson,
} from '../made/atoll/protocol/v1/codex_workers_pb.ts';

interface Sample {
  readonly message: string;
  readonly json: JsonValue;
}

const FILES = { admin, auth, events, sandbox, workers };
const schemas = new Map<string, DescMessage>(
  Object.values(FILES).flatMap((file) => file.messages.map((one) => [one.name, one] as const)),
);

function samples(file: string): readonly Sample[] {
  const url = new URL(`../../../tests/fixtures/protocol/${file}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as readonly Sample[];
}

function schema(name: string): DescMessage {
  const found = schemas.get(name);
  if (found === undefined) throw new Error(`no message ${name}`);
  return found;
}

describe.each(Object.keys(FILES))('samples of codex_%s', (file) => {
  test.each(samples(file))('$message comes back as it was', ({ message, json }) => {
    const type = schema(message);
    expect(toJson(type, fromJson(type, json))).toEqual(json);
  });
});

test('the payload of an event is one of its kinds', () => {
  const json = samples('events')[0]?.json ?? null;
  const event = fromJson(WorkerEventSchema, json);
  expect(event.seq).toBe(1);
  expect(event.payload?.payload.case).toBe('started');
});

test('what is not in the schema is refused', () => {
  const type = schema('WorkerSnapshot');
  for (const json of [{ stranger: 1 }, { status: 'asleep' }, { latest_seq: -1 }]) {
    expect(() => fromJson(type, json)).toThrow();
  }
});

test('types of the JSON are the words of the API', () => {
  const snapshot: WorkerSnapshotJson = { worker_id: 'codexw_1', status: 'running', latest_seq: 7 };
  const type = schema('WorkerSnapshot');
  expect(toJson(type, fromJson(type, { ...snapshot }))).toEqual(snapshot);
});
