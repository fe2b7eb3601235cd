/** The page with no sandbox chosen: a welcome, and the shortest ways to begin. */

import { useEffect, useState } from 'react';
import { api } from '../api/client';
import type { Profile } from '../api/types';
import { sandboxes } from '../state/sandboxes';
import { useStore } from '../state/store';
import { Icon, Mark } from './icons';
import { profileWords } from './words';

interface HomeProps {
  readonly missing: boolean;
  readonly onNew: (profile: string | null) => void;
  readonly onMenu: () => void;
}

const SHOWN_PROFILES = 6;

export function Home({ missing, onNew, onMenu }: HomeProps) {
  const list = useStore(sandboxes);
  const [profiles, setProfiles] = useState<readonly Profile[]>([]);
  useEffect(() => {
    api.profiles().then(setProfiles, () => setProfiles([]));
  }, []);
  const empty = list?.length === 0;

  return (
    <main className="home">
      <button
        type="button"
        className="button-icon narrow-only home-menu"
        aria-label="Sandboxes"
        onClick={onMenu}
      >
        <Icon name="menu" />
      </button>
      <div className="home-body">
        <Mark />
        <h1>
          {missing
            ? 'That sandbox is gone'
            : empty
              ? 'Make your first sandbox'
              : 'Pick up where you left off'}
        </h1>
        <p className="home-lead">
          {missing
            ? 'It was destroyed, or it never was. The others are on the left.'
            : 'Every agent gets a machine-shaped place of its own: its files, its terminals, its limits. You keep a seat at each.'}
        </p>
        <div className="cards home-cards">
          {profiles.slice(0, SHOWN_PROFILES).map((profile) => (
            <button
              key={profile.id}
              type="button"
              className="card-face"
              onClick={() => onNew(profile.id)}
            >
              <span className="card-title">
                <Icon name={profile.agent == null ? 'terminal' : 'agent'} />
                {profileWords(profile.id)}
              </span>
              {profile.description !== undefined && (
                <span className="card-note">{profile.description}</span>
              )}
            </button>
          ))}
        </div>
        <p className="quiet home-keys">
          <kbd>Ctrl</kbd> <kbd>K</kbd> finds everything · <kbd>N</kbd> makes a sandbox
        </p>
      </div>
    </main>
  );
}
