/**
 * What an agent wrote, with the little markup it uses: fenced and inline code, bold words.
 *
 * Text only ever becomes text nodes: there is no HTML in here, and no link that could be
 * followed.
 */

import { memo, type ReactNode } from 'react';

export const RichText = memo(function RichText({ text }: { readonly text: string }) {
  return (
    <div className="rich">
      {text.split(/^```.*$/m).map((part, i) => {
        // Every second part stood between fences.
        if (i % 2 === 1) return <pre key={i}>{part.replace(/^\n|\n$/g, '')}</pre>;
        const plain = part.trim();
        return plain === '' ? null : <p key={i}>{inline(plain)}</p>;
      })}
    </div>
  );
});

function inline(text: string): ReactNode[] {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, i) => {
    if (i % 2 === 0) return part;
    if (part.startsWith('`')) return <code key={i}>{part.slice(1, -1)}</code>;
    return <strong key={i}>{part.slice(2, -2)}</strong>;
  });
}
