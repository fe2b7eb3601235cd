/** The box for a task over any page. */

import { t } from '../../language/t';
import { useStore } from '../../state/store';
import { Dialog } from '../parts/Dialog';
import { Composer, show } from './Composer';
import { composing } from './composing';

export function ComposerDialog() {
  const known = useStore(composing);
  if (known === null) return null;
  const close = (): void => composing.set(null);
  return (
    <Dialog title={t`New task`} onClose={close} wide>
      <Composer
        known={known}
        onStarted={(made) => {
          close();
          show(made);
        }}
      />
    </Dialog>
  );
}
