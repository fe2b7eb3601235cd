/** The typed client of the HTTP API of Atoll. */
export { Atoll } from './atoll.js';
export type { AtollOptions, Event, Gap } from './atoll.js';
export { AtollError } from './errors.js';
export type { Answer, Input, PathsWith } from './operations.js';
export type { Retries } from './retries.js';
export type { components, paths } from './made/schema.js';
