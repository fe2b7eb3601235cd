/** Markdown as elements: no HTML, and no address is fetched or followed by itself. */

import { useMemo, type ReactNode } from 'react';
import { t } from '../../../language/t';
import { followable } from '../../../terminal/screen/links';
import { coloured, commentOf } from '../../review/diff/colours';
import { visible } from '../../../unseen';
import type { Chosen } from '../FileExplorer';
import { folderOf, joined } from '../tree';
import { blocksOf, TEXT_MAX, type Block, type Inline } from './markdown';

interface MarkdownProps {
  readonly text: string;
  readonly path: string;
  readonly onOpen: (chosen: Chosen) => void;
}

/** What the elements of one text need. */
interface Context {
  readonly folder: string;
  readonly onOpen: (chosen: Chosen) => void;
}

export function Markdown({ text, path, onOpen }: MarkdownProps) {
  const blocks = useMemo(() => blocksOf(text.slice(0, TEXT_MAX)), [text]);
  const context = { folder: folderOf(path), onOpen };
  return (
    <div
      className="viewer-prose"
      tabIndex={0}
      role="group"
      aria-label={t`Text of ${visible(path)}`}
    >
      {blocks.map((block, i) => (
        <BlockView key={i} block={block} context={context} />
      ))}
      {text.length > TEXT_MAX && (
        <p className="quiet">{t`The rest is too long: read its source.`}</p>
      )}
    </div>
  );
}

function BlockView({ block, context }: { readonly block: Block; readonly context: Context }) {
  switch (block.is) {
    case 'heading': {
      // The page has its own headings above these.
      const Level = (['h3', 'h3', 'h4', 'h5', 'h6', 'h6'] as const)[block.level - 1] ?? 'h6';
      return <Level className={`prose-h${block.level}`}>{inline(block.parts, context)}</Level>;
    }
    case 'paragraph':
      return <p>{inline(block.parts, context)}</p>;
    case 'rule':
      return <hr />;
    case 'code':
      return <Code language={block.language} text={block.text} />;
    case 'quote':
      return <blockquote>{inner(block.blocks, context)}</blockquote>;
    case 'table':
      return <TableView rows={block.rows} context={context} />;
    case 'list': {
      const items = block.items.map(({ done, blocks }, i) => (
        <li key={i} className={done === null ? undefined : 'prose-task'}>
          {done !== null && (
            <input type="checkbox" checked={done} disabled aria-label={done ? t`Done` : t`To do`} />
          )}
          {inner(blocks, context)}
        </li>
      ));
      return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
  }
}

/** The only paragraph of an item needs no element of its own. */
function inner(blocks: readonly Block[], context: Context): ReactNode {
  const [first, ...rest] = blocks;
  if (first?.is !== 'paragraph') {
    return blocks.map((block, i) => <BlockView key={i} block={block} context={context} />);
  }
  return (
    <>
      <span className="prose-first">{inline(first.parts, context)}</span>
      {rest.map((block, i) => (
        <BlockView key={i} block={block} context={context} />
      ))}
    </>
  );
}

function TableView(props: {
  readonly rows: Extract<Block, { readonly is: 'table' }>['rows'];
  readonly context: Context;
}) {
  const [head = [], ...rows] = props.rows;
  return (
    <div className="prose-table" tabIndex={0} role="group" aria-label={t`Table`}>
      <table>
        <thead>
          <tr>
            {head.map((cell, i) => (
              <th key={i}>{inline(cell, props.context)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, k) => (
                <td key={k}>{inline(cell, props.context)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Code({ language, text }: { readonly language: string; readonly text: string }) {
  const comment = commentOf(`x.${ENDINGS[language] ?? language}`);
  return (
    <pre tabIndex={0}>
      {text.split('\n').map((line, i) => (
        <span key={i}>
          {comment === null
            ? visible(line)
            : coloured(visible(line), comment).map(([colour, piece], k) => (
                <span key={k} className={colour === null ? undefined : `code-${colour}`}>
                  {piece}
                </span>
              ))}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}

const ENDINGS: Readonly<Record<string, string>> = {
  python: 'py',
  bash: 'sh',
  shell: 'sh',
  console: 'sh',
  javascript: 'js',
  typescript: 'ts',
  rust: 'rs',
  golang: 'go',
  yaml: 'yml',
  'c++': 'cpp',
};

function inline(parts: readonly Inline[], context: Context): ReactNode {
  return parts.map((part, i) => {
    switch (part.is) {
      case 'text':
        return visible(part.text.replaceAll('\n', ' '));
      case 'code':
        return <code key={i}>{visible(part.text.replaceAll('\n', ' '))}</code>;
      case 'strong':
        return <strong key={i}>{inline(part.parts, context)}</strong>;
      case 'em':
        return <em key={i}>{inline(part.parts, context)}</em>;
      case 'gone':
        return <del key={i}>{inline(part.parts, context)}</del>;
      case 'image':
        return (
          <Link key={i} to={part.to} context={context}>
            {t`[image: ${visible(part.text || part.to)}]`}
          </Link>
        );
      case 'link':
        return (
          <Link key={i} to={part.to} context={context}>
            {inline(part.parts, context)}
          </Link>
        );
    }
  });
}

interface LinkProps {
  readonly to: string;
  readonly context: Context;
  readonly children: ReactNode;
}

/** An address of the web opens in a tab of its own; one of the workspace opens here; others are
 *  text. */
function Link({ to, context, children }: LinkProps) {
  const href = followable(to);
  if (href !== null) {
    return (
      <a href={href} title={visible(href)} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    );
  }
  const path = pathOf(to, context.folder);
  if (path === null) return <span title={visible(to)}>{children}</span>;
  return (
    <button
      type="button"
      className="prose-link"
      title={visible(path)}
      onClick={() => context.onOpen({ place: { path, exact: null }, line: null })}
    >
      {children}
    </button>
  );
}

/** The file of the workspace that a relative link leads to; null where it leads to none. */
export function pathOf(to: string, folder: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:|^\/\/|^#/i.test(to)) return null;
  let path = to.split(/[?#]/)[0] ?? '';
  try {
    path = decodeURIComponent(path);
  } catch {
    // As it is.
  }
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : joined(folder, path)).split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.length === 0 ? null : parts.join('/');
}
