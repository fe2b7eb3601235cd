/** Writes which sources and packages each file of a build holds; the test of first loads reads it. */

import path from 'node:path';
import type { Plugin } from 'vite';

const PACKAGE = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/.*/;

export function contents(): Plugin {
  let root = '';
  return {
    name: 'contents',
    apply: 'build',
    configResolved(config) {
      root = config.root;
    },
    generateBundle(_, bundle) {
      const held: Record<string, readonly string[]> = {};
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue;
        const scripts = file.moduleIds.filter((id) => !id.endsWith('.css'));
        held[file.fileName] = [...new Set(scripts.map((id) => nameOf(root, id)))].sort();
      }
      const source = JSON.stringify(held, null, 1);
      this.emitFile({ type: 'asset', fileName: '.vite/contents.json', source });
    },
  };
}

/** A package's name, or a source's path below `ui`. */
function nameOf(root: string, id: string): string {
  if (id.startsWith('\0')) return id.slice(1).replace(/[?:].*/, '');
  const plain = id.replace(/\?.*/, '');
  return PACKAGE.exec(plain)?.[1] ?? path.relative(root, plain);
}
