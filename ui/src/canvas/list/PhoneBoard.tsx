/** A dashboard on a phone: its items as cards, in the order of reading; terminals to look at. */

import { Suspense, use, useState } from 'react';
import { TerminalPane } from '../../components/terminals/TerminalPane';
import { Icon } from '../../components/parts/icons';
import { t } from '../../language/t';
import { terminals } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { clientId } from '../../terminal/attach/client-id';
import { fontsLoaded } from '../../terminal/screen/fonts';
import { addItem } from '../document/acts';
import { inReadingOrder } from '../document/geometry';
import { KIND_WORDS, nameOf, type Item } from '../document/items';
import { useShown } from '../items/agent-of';
import { Link } from '../items/Link';
import { Note } from '../items/Note';
import { PaneOf } from '../items/panes';
import { PhoneTerminal } from '../items/PhoneTerminal';
import { Todo } from '../items/Todo';
import type { Way } from '../view/hanging';
import type { OpenDashboard } from '../view/useDashboard';

interface PhoneBoardProps {
  readonly id: string;
  readonly open: OpenDashboard;
  readonly onGive: ((item: Item) => void) | null;
  /** Begins an agent; null where its reader may not. */
  readonly onAgent: (() => void) | null;
  readonly onWay: (item: Item, way: Way) => void;
}

export function PhoneBoard({ open, onGive, onAgent, onWay }: PhoneBoardProps) {
  const { stage, status } = open;
  const items = useStore(stage.board.list);
  const [full, setFull] = useState<string | null>(null);
  const shown = inReadingOrder(items.filter(({ kind }) => kind !== 'frame'));
  const opened = full === null ? null : stage.board.item(full);
  if (opened !== null)
    return (
      <Suspense fallback={<p className="pane-absent quiet">{t`Opening…`}</p>}>
        <FullTerminal item={opened} onClose={() => setFull(null)} />
      </Suspense>
    );
  return (
    <div className="cards-board">
      {(stage.edits || onAgent !== null) && (
        <div className="cards-make">
          {stage.edits &&
            (['note', 'todo'] as const).map((kind) => (
              <button
                key={kind}
                type="button"
                className="button"
                onClick={() => {
                  const made = addItem(
                    stage.board,
                    { kind, box: stage.place({ w: 208, h: 176 }) },
                    stage.author,
                  );
                  stage.enter(made);
                }}
              >
                <Icon name={kind} />
                {KIND_WORDS()[kind]}
              </button>
            ))}
          {onAgent !== null && (
            <button type="button" className="button" onClick={onAgent}>
              <Icon name="agent" />
              {t`Agent`}
            </button>
          )}
        </div>
      )}
      {status.loaded && shown.length === 0 && (
        <p className="boards-none quiet">{t`Nothing is here yet.`}</p>
      )}
      <ul>
        {shown.map((item) => (
          <li key={item.id} className="card-item" data-item={item.id}>
            <CardBody {...{ item, open, onGive, onWay }} onOpen={() => setFull(item.id)} />
          </li>
        ))}
      </ul>
    </div>
  );
}

interface CardBodyProps {
  readonly item: Item;
  readonly open: OpenDashboard;
  readonly onGive: PhoneBoardProps['onGive'];
  readonly onWay: PhoneBoardProps['onWay'];
  readonly onOpen: () => void;
}

function CardBody({ item, open, onGive, onWay, onOpen }: CardBodyProps) {
  switch (item.kind) {
    case 'note':
    case 'todo':
      return <Written {...{ item, open, onGive, onWay }} />;
    case 'link':
      return <Link stage={open.stage} item={item} inside={false} />;
    case 'terminal':
    case 'agent':
      return <PhoneTerminal item={item} onOpen={onOpen} />;
    default:
      return (
        <section>
          <h2 className="board-card-title">{nameOf(item)}</h2>
          <div className="card-pane">
            <PaneOf item={item} />
          </div>
        </section>
      );
  }
}

/** A note or todo, and the way to edit it. */
function Written({ item, open, onGive, onWay }: Omit<CardBodyProps, 'onOpen'>) {
  const { stage } = open;
  const inside = useStore(stage.inside) === item.id;
  return (
    <>
      {item.kind === 'note' ? (
        <Note {...{ stage, item, inside }} />
      ) : (
        <Todo {...{ stage, item, inside, onGive, onWay }} people={open.people} />
      )}
      {stage.edits && !item.locked && (
        <button
          type="button"
          className="button button-small card-edit"
          aria-label={inside ? t`Done` : t`Edit ${nameOf(item)}`}
          onClick={() => (inside ? stage.leave() : stage.enter(item.id))}
        >
          {inside ? t`Done` : t`Edit`}
        </button>
      )}
    </>
  );
}

/** A terminal over the whole phone, with its keys and the way to take control. */
function FullTerminal({ item, onClose }: { readonly item: Item; readonly onClose: () => void }) {
  const client = use(clientId());
  use(fontsLoaded());
  const list = useStore(terminals)[item.sandboxId ?? ''];
  const shown = useShown(item);
  const terminal = list?.find(({ terminal_id: id }) => shown.is === 'terminal' && id === shown.id);
  return (
    <div className="cards-full">
      <button type="button" className="button button-small" onClick={onClose}>
        {t`Back to the dashboard`}
      </button>
      {terminal === undefined || item.sandboxId === null ? (
        <p className="pane-absent quiet">{t`This terminal has ended.`}</p>
      ) : (
        <div className="panes">
          <TerminalPane
            sandboxId={item.sandboxId}
            terminal={terminal}
            client={client}
            visible
            onStatus={() => undefined}
            onPageKey={() => undefined}
          />
        </div>
      )}
    </div>
  );
}
