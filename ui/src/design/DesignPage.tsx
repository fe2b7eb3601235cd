/** Every part of the page in every state, in the colours, contrast and room that are chosen here. */

import { contrast, density, motion } from './appearance';
import { useStore } from '../state/store';
import { setTheme, theme } from '../state/theme';
import { Page } from '../components/parts/Page';
import { Segments } from '../components/parts/Segments';
import { Blanks, Feedback, Overlays } from './Feedback';
import { Controls, Fields } from './Controls';
import { Foundations } from './Foundations';
import { Marks, Navigation } from './Marks';
import './design.css';

export function DesignPage({ onMenu }: { readonly onMenu: () => void }) {
  return (
    <Page title="Appearance" onMenu={onMenu} className="design">
      <Choices />
      <p className="quiet">
        Below is every part that the page is made of, in each of its states, as it looks now.
      </p>
      <Foundations />
      <Controls />
      <Fields />
      <Marks />
      <Navigation />
      <Blanks />
      <Feedback />
      <Overlays />
    </Page>
  );
}

/** The person's choices, which this browser keeps. */
function Choices() {
  return (
    <section className="design-choices" aria-label="Your choices">
      <Segments
        legend="Colours"
        choices={[
          { value: 'system', words: 'As the system' },
          { value: 'light', words: 'Light' },
          { value: 'dark', words: 'Dark' },
        ]}
        chosen={useStore(theme)}
        onChoose={setTheme}
      />
      <Segments
        legend="Contrast"
        choices={[
          { value: 'system', words: 'As the system' },
          { value: 'standard', words: 'Standard' },
          { value: 'more', words: 'More' },
        ]}
        chosen={useStore(contrast.chosen)}
        onChoose={contrast.choose}
      />
      <Segments
        legend="Room"
        choices={[
          { value: 'comfortable', words: 'Comfortable' },
          { value: 'compact', words: 'Compact' },
        ]}
        chosen={useStore(density.chosen)}
        onChoose={density.choose}
      />
      <Segments
        legend="Motion"
        choices={[
          { value: 'system', words: 'As the system' },
          { value: 'less', words: 'Less' },
        ]}
        chosen={useStore(motion.chosen)}
        onChoose={motion.choose}
      />
    </section>
  );
}
