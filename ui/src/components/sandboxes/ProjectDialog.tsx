/** Asks the person what of a repository's own file may be used; every proposal in its exact text. */

import type { Project } from '../../api/types';
import { projectQuestion } from '../../state/project';
import { useStore } from '../../state/store';
import { Dialog } from '../parts/Dialog';

type Proposal = Project['proposals'][number];

const KINDS: readonly { readonly kind: Proposal['kind']; readonly words: string }[] = [
  { kind: 'setup', words: 'Run in the sandbox' },
  { kind: 'network', words: 'Reach the registries' },
  { kind: 'host', words: 'Send to and receive from the hosts' },
  { kind: 'port', words: 'Offer the ports' },
  { kind: 'env', words: 'Set the variables' },
  { kind: 'profile', words: 'Use the profile (here yours counts, as chosen)' },
  { kind: 'copy', words: 'Copy from your checkout' },
];

export function ProjectDialog() {
  const question = useStore(projectQuestion);
  if (question === null) return null;
  const { project, answer } = question;
  return (
    <Dialog title="What this repository asks for" onClose={() => answer('later')}>
      <div className="form">
        <p>
          <code>{project.file}</code> of <strong>{project.repository}</strong> proposes this.
          Nothing of it is used unless you approve it.
        </p>
        {KINDS.map(({ kind, words }) => (
          <Proposals
            key={kind}
            words={words}
            list={project.proposals.filter((one) => one.kind === kind)}
          />
        ))}
        {project.proposals.some(({ kind }) => kind === 'copy') && (
          <p className="quiet">
            This page cannot read your disk. Once the sandbox is there, run{' '}
            <code>atoll project copy NAME</code> in your checkout: it shows each file and asks.
          </p>
        )}
        <Changes project={project} />
        <Ignored lines={project.ignored} />
        <footer className="dialog-foot">
          <button
            type="button"
            className="button"
            data-first-focus
            onClick={() => answer('declined')}
          >
            Not now
          </button>
          <button
            type="button"
            className="button button-primary"
            onClick={() => answer('approved')}
          >
            Approve
          </button>
        </footer>
      </div>
    </Dialog>
  );
}

function Proposals({
  words,
  list,
}: {
  readonly words: string;
  readonly list: readonly Proposal[];
}) {
  if (list.length === 0) return null;
  return (
    <section className="proposals" aria-label={words}>
      <h3>{words}</h3>
      <ol>
        {list.map((one) => (
          <li key={one.text}>
            <code>{one.text}</code>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The difference from what was decided last. */
function Changes({ project }: { readonly project: Project }) {
  const { added, removed } = project.changes;
  if (added.length + removed.length === 0) return null;
  return (
    <section className="proposals" aria-label="Since your last decision">
      <h3>Since your last decision</h3>
      <ul>
        {added.map((one) => (
          <li key={`+${one.kind}${one.text}`}>
            added <code>{one.text}</code>
          </li>
        ))}
        {removed.map((one) => (
          <li key={`-${one.kind}${one.text}`}>
            removed <code>{one.text}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Ignored({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <details>
      <summary>
        {lines.length === 1 ? '1 entry has' : `${lines.length} entries have`} no effect here
      </summary>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
}
