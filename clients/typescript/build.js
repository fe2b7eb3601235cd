/**
 * Builds `dist`. Types come from docs/openapi.json by the generator of the page, and the reader of
 * server-sent events is the page's: neither lies here twice. The tools are those of `ui/`.
 */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const run = (...words) => execFileSync(process.execPath, words, { stdio: 'inherit' });

await mkdir(here('src/made'), { recursive: true });
run(here('../../ui/generate-types.js'), '--paths', here('src/made/schema.ts'));
await cp(here('../../ui/src/api/sse.ts'), here('src/made/sse.ts'));
await rm(here('dist'), { recursive: true, force: true });
run(here('../../ui/node_modules/typescript/bin/tsc'), '--project', here('.'));
