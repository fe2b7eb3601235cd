/**
 * Builds `dist`. Types come from docs/openapi.json by the generator of the page, the messages of
 * workers from proto/, and the reader of server-sent events is the page's: none lies here twice.
 * The tools are those of `ui/`, and Buf in `.venv`.
 */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const root = here('../..');
const run = (program, ...words) => execFileSync(program, words, { cwd: root, stdio: 'inherit' });
const node = (...words) => run(process.execPath, ...words);

await rm(here('src/made'), { recursive: true, force: true });
await mkdir(here('src/made'), { recursive: true });
node('ui/generate-types.js', '--paths', here('src/made/schema.ts'));
await cp(here('../../ui/src/api/sse.ts'), here('src/made/sse.ts'));
run(here('../../.venv/bin/buf'), 'generate', 'proto', '--template', here('buf.gen.yaml'));
await rm(here('dist'), { recursive: true, force: true });
node('ui/node_modules/typescript/bin/tsc', '--project', here('.'));
