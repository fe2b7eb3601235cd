/** Where the page begins. */

import { createRoot } from 'react-dom/client';
import '@xterm/xterm/css/xterm.css';
import './styles/tokens.css';
import './styles/frame.css';
import './styles/parts.css';
import './styles/fonts.css';
import './styles/terminal.css';
import './styles/blocks.css';
import './styles/wall.css';
import './styles/home.css';
import './styles/people.css';
import './styles/recordings.css';
import './styles/secrets.css';
import './styles/inbox.css';
import './styles/tasks.css';
import './styles/review.css';
import './styles/project.css';
import './styles/team.css';
import './styles/small.css';
import { App } from './App';
import { begin } from './state/login';
import { followOtherTabs, welcome } from './state/team/entering';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(<App />);
followOtherTabs();
void begin().then(welcome);
