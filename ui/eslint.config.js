import js from '@eslint/js';
import hooks from 'eslint-plugin-react-hooks';
import globals from 'globals';
import tseslint from 'typescript-eslint';
import { words } from './language/rule.js';

/** Sources whose strings nobody reads on the page in their language. */
const UNREAD = [
  '**/*.test.{ts,tsx}',
  'src/testing/**',
  // The page of the parts is for those who change them.
  'src/design/{Controls,DesignPage,Feedback,Foundations,Marks,Specimens}.tsx',
  // Lists of words that a program compares with.
  'src/state/tasks/branch.ts',
  'src/components/review/diff/colours.ts',
  // Fonts, and the format of recordings.
  'src/terminal/screen/{cast,fonts,picture}.ts',
  // The worker has no page and no catalogue: it says seven fixed sentences.
  'src/worker/**',
];

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'src/api/schema.ts'] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    files: ['**/*.{ts,tsx}'],
    languageOptions: {
      globals: globals.browser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { 'react-hooks': hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      'max-lines': ['error', { max: 500 }],
      complexity: ['error', 12],
      // Numbers read well in a template; everything else must be a string.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    ignores: UNREAD,
    plugins: { words },
    rules: { 'words/written': 'error' },
  },
  {
    files: ['**/*.js'],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: { globals: globals.node },
  },
);
