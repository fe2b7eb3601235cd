/** How the page's unit tests run: most share one graph of modules, as to load it for each takes
 * longer than the tests. Those that replace modules, or measure memory, load their own. */
import { defineConfig, mergeConfig } from 'vitest/config';
import page from './vite.config.ts';

const apart = [
  'src/components/frame/hits.test.ts',
  'src/components/review/threads.test.ts',
  'src/state/sandboxes.test.ts',
  'src/state/tasks/project.test.ts',
];
const every = 'src/**/*.test.{ts,tsx}';

export default mergeConfig(
  page,
  defineConfig({
    test: {
      pool: 'threads',
      testTimeout: 60_000,
      projects: [
        {
          extends: true,
          test: { name: 'shared', isolate: false, include: [every], exclude: apart },
        },
        { extends: true, test: { name: 'apart', isolate: true, include: apart } },
      ],
    },
  }),
);
