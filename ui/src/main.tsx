/** Where the page begins. */

import { CSPProvider } from '@base-ui/react/csp-provider';
import { createRoot } from 'react-dom/client';
import '@xterm/xterm/css/xterm.css';
import './design/tokens.css';
import './styles/frame.css';
import './design/choices.css';
import './design/parts.css';
import './styles/fonts.css';
import './styles/terminals/terminal.css';
import './styles/terminals/blocks.css';
import './styles/terminals/tiles.css';
import './styles/people.css';
import './styles/secrets.css';
import './styles/inbox.css';
import './styles/tasks.css';
import './styles/project.css';
import './styles/team.css';
import './styles/previews.css';
import './styles/small.css';
import './design/density.css';
import './design/contrast.css';
import { App } from './App';
import { WhenBroken } from './components/frame/Broken';
import { fetchFirst } from './later';
import './design/appearance';
import { speakFirst } from './language/languages';
import { begin } from './state/login';
import { route } from './state/route';
import { followOtherTabs, welcome } from './state/team/entering';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
fetchFirst(route.get());
followOtherTabs();
void begin().then(welcome);
// Where the browser prefers English, nothing is fetched.
void speakFirst(navigator.languages).finally(() =>
  createRoot(root).render(
    <WhenBroken>
      <CSPProvider disableStyleElements>
        <App />
      </CSPProvider>
    </WhenBroken>,
  ),
);
