/** The messages of workers, as `proto/` has them. They need `@bufbuild/protobuf`. */
export * from './made/atoll/protocol/v1/codex_admin_pb.js';
export * from './made/atoll/protocol/v1/codex_auth_pb.js';
export * from './made/atoll/protocol/v1/codex_events_pb.js';
export * from './made/atoll/protocol/v1/codex_sandbox_pb.js';
export * from './made/atoll/protocol/v1/codex_workers_pb.js';
