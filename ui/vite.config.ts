/** How the page is built: hashed assets with relative paths, into the Python package. */
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { contents } from './contents.ts';
import { catalogues } from './language/catalogues.js';
import { precompress } from './precompress.ts';

const control = process.env['ATOLL_URL'] ?? 'http://127.0.0.1:8080';

/** Refuses a build whose service worker imports: browsers start no such one. */
const aloneWorker: Plugin = {
  name: 'alone-worker',
  generateBundle(_, bundle) {
    const worker = bundle['sw.js'];
    if (worker?.type === 'chunk' && worker.imports.length > 0) {
      this.error(`sw.js imports ${worker.imports.join(', ')}: it must stand alone`);
    }
  },
};

export default defineConfig({
  base: './',
  plugins: [react(), catalogues(), contents(), precompress(), aloneWorker],
  build: {
    outDir: '../src/atoll/surfaces/http/static',
    emptyOutDir: true,
    // A data: URL would need a wider content security policy than the page is served with.
    assetsInlineLimit: 0,
    manifest: true,
    target: 'es2022',
    rolldownOptions: {
      input: { index: 'index.html', pdf: 'pdf.html', sw: 'src/worker/sw.ts' },
      output: {
        // A service worker is updated under one address, and rules what lies beside it.
        entryFileNames: ({ name }) => (name === 'sw' ? 'sw.js' : 'assets/[name]-[hash].js'),
      },
    },
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: {
      '/v1': { target: control, ws: true },
      '/auth': { target: control },
    },
  },
});
