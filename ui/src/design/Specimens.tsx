/** How the design's page shows a part: what it is, and beside it the name of its state. */

import type { ReactNode } from 'react';

interface SpecimensProps {
  readonly title: string;
  readonly children: ReactNode;
}

/** A kind of part, with a heading. */
export function Specimens({ title, children }: SpecimensProps) {
  return (
    <section>
      <h2>{title}</h2>
      <div className="design-specimens">{children}</div>
    </section>
  );
}

interface SpecimenProps {
  /** The state that is shown. */
  readonly state: string;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

export function Specimen({ state, wide = false, children }: SpecimenProps) {
  return (
    <figure className={wide ? 'design-specimen design-wide' : 'design-specimen'}>
      <div className="design-part">{children}</div>
      <figcaption>{state}</figcaption>
    </figure>
  );
}
