/**
 * Writes src/api/schema.ts from docs/openapi.json: the shapes of what the API sends and takes.
 * With `--check` it only compares, and fails when the file is not current. With `--paths FILE` it
 * writes them with the paths into that file, for clients/typescript.
 */
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';

const DOCUMENT = new URL('../docs/openapi.json', import.meta.url);
const TARGET = new URL('src/api/schema.ts', import.meta.url);
const NOTE = '/** Generated from docs/openapi.json by `npm run types`: do not edit. */\n\n';

const whole = JSON.parse(await readFile(DOCUMENT, 'utf8'));
const { openapi, info, components } = whole;
const shapes = { openapi, info, paths: {}, components: { schemas: components.schemas } };
// A default is the server's: what has one may be left out of a request.
const options = { immutable: true, defaultNonNullable: false };
const text = NOTE + astToString(await openapiTS(shapes, options));

const paths = process.argv.indexOf('--paths');
if (paths > 0) {
  await writeFile(process.argv[paths + 1], NOTE + astToString(await openapiTS(whole, options)));
} else if (process.argv.includes('--check')) {
  const current = await readFile(TARGET, 'utf8').catch(() => '');
  if (current !== text) {
    console.error('src/api/schema.ts is not current: run npm run types');
    process.exit(1);
  }
} else {
  await writeFile(TARGET, text);
}
