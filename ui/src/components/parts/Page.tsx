/** A page of its own: one kind of head over what it shows. */

import type { ReactNode } from 'react';
import { MenuButton } from './MenuButton';

interface PageHeadProps {
  readonly title: string;
  readonly onMenu: () => void;
  /** What belongs to the title: a count, a state, whose it is. */
  readonly note?: ReactNode;
  /** What can be done here, the chief act last. */
  readonly children?: ReactNode;
}

export function PageHead({ title, onMenu, note, children }: PageHeadProps) {
  return (
    <header className="page-head">
      <MenuButton onMenu={onMenu} />
      <h1>{title}</h1>
      {note}
      <span className="spring" />
      {children}
    </header>
  );
}

interface PageProps extends PageHeadProps {
  /** Its name for screen readers, where the title is another. */
  readonly label?: string;
  readonly acts?: ReactNode;
  /** As wide as the window: a table or a grid, and not lines to be read. */
  readonly wide?: boolean;
  /** Of its body. */
  readonly className?: string;
}

export function Page(props: PageProps) {
  const { label = props.title, acts, wide = false, className = '', children, ...head } = props;
  return (
    <main className="page" aria-label={label}>
      <PageHead {...head}>{acts}</PageHead>
      <div className={['page-body', wide && 'page-wide', className].filter(Boolean).join(' ')}>
        {children}
      </div>
    </main>
  );
}
