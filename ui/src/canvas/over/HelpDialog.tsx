/** All keys of the canvas. */

import { Dialog } from '../../components/parts/Dialog';
import { t } from '../../language/t';
import { COMMAND_GROUPS, OTHER_KEYS } from '../view/commands';

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title={t`Keys of the canvas`} onClose={onClose} wide>
      <div className="keys">
        {COMMAND_GROUPS().map(({ title, commands }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {commands
                .filter(({ keys }) => keys !== undefined)
                .map(({ id, words, keys }) => (
                  <KeyLine key={id} keys={keys ?? []} words={words} />
                ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>{t`Besides`}</h3>
          <dl>
            {OTHER_KEYS().map(({ keys, words }) => (
              <KeyLine key={keys} keys={[keys]} words={words} />
            ))}
          </dl>
        </section>
      </div>
    </Dialog>
  );
}

interface KeyLineProps {
  readonly keys: readonly string[];
  readonly words: string;
}

function KeyLine({ keys, words }: KeyLineProps) {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{words}</dd>
    </div>
  );
}
