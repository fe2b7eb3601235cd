/** Asks the person what of a repository's own file may be used; every proposal in its exact text. */

import type { Project } from '../../api/types';
import { plural, t, worded } from '../../language/t';
import { projectQuestion } from '../../state/tasks/project';
import { useStore } from '../../state/store';
import { Dialog } from '../parts/Dialog';

type Proposal = Project['proposals'][number];

const KINDS = worded<readonly { readonly kind: Proposal['kind']; readonly words: string }[]>(() => [
  { kind: 'setup', words: t`Run in the sandbox` },
  { kind: 'server', words: t`Keep running in the sandbox` },
  { kind: 'network', words: t`Reach the registries` },
  { kind: 'host', words: t`Send to and receive from the hosts` },
  { kind: 'port', words: t`Offer the ports` },
  { kind: 'env', words: t`Set the variables` },
  { kind: 'profile', words: t`Use the profile (here yours counts, as chosen)` },
  { kind: 'copy', words: t`Copy from your checkout` },
]);

export function ProjectDialog() {
  const question = useStore(projectQuestion);
  if (question === null) return null;
  const { project, answer } = question;
  return (
    <Dialog title={t`What this repository asks for`} onClose={() => answer('later')}>
      <div className="form">
        <p>
          {t`${(<code>{project.file}</code>)} of ${(<strong>{project.repository}</strong>)} proposes this. Nothing of it is used unless you approve it.`}
        </p>
        {KINDS().map(({ kind, words }) => (
          <Proposals
            key={kind}
            words={words}
            list={project.proposals.filter((one) => one.kind === kind)}
          />
        ))}
        {project.proposals.some(({ kind }) => kind === 'copy') && (
          <p className="quiet">
            {t`This page cannot read your disk. Once the sandbox is there, run ${(<code>atoll project copy NAME</code>)} in your checkout: it shows each file and asks.`}
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
            {t`Not now`}
          </button>
          <button
            type="button"
            className="button button-primary"
            onClick={() => answer('approved')}
          >
            {t`Approve`}
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
    <section className="proposals" aria-label={t`Since your last decision`}>
      <h3>{t`Since your last decision`}</h3>
      <ul>
        {added.map((one) => (
          <li key={`+${one.kind}${one.text}`}>{t`added ${(<code>{one.text}</code>)}`}</li>
        ))}
        {removed.map((one) => (
          <li key={`-${one.kind}${one.text}`}>{t`removed ${(<code>{one.text}</code>)}`}</li>
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
        {t`${plural(lines.length, { one: '# entry has', other: '# entries have' })} no effect here`}
      </summary>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
}
