/** What most tasks leave as it is: profile, mode, name, network, life. */

import { api } from '../../api/client';
import type { CatalogueAgent, Extension, Profile } from '../../api/types';
import { plural, t } from '../../language/t';
import { fittingLife, livesOf } from '../sandboxes/lifetime';
import { Choice, Line, type FieldName } from '../parts/Field';
import { useAnswer } from '../parts/useAnswer';
import { BlockedProfiles, isUsable } from '../sandboxes/BlockedProfiles';
import { Wants } from '../sandboxes/Wants';
import { profileWords } from '../parts/words';
import { NotReady } from './AgentChoice';
import type { TaskDraft } from './draft';
import { SharedChoice } from './SharedChoice';
import { ofProfile, type ComposerState } from './useComposer';

export function MoreFields({ state }: { readonly state: ComposerState }) {
  const { draft, offers, trouble, change, look } = state;
  const { profiles } = offers;
  const usable = profiles.filter(isUsable);
  const named = (wanted: string): Profile | undefined =>
    profiles.find(({ id }) => id === (wanted || 'profile.shell'));
  const at = (field: FieldName): string | null => (trouble?.field === field ? trouble.text : null);
  const profile = named(draft.profile);
  const extensions = useExtensions();
  return (
    <div className="composer-fields">
      <div className="form-row">
        <Choice
          label={t`Profile`}
          value={draft.profile}
          trouble={at('profile')}
          onChange={(id) =>
            change({
              profile: id,
              ttl: fittingLife(draft.ttl, named(id)),
              ...ofProfile(id, profiles, offers.agents ?? []),
            })
          }
        >
          <option value="">{t`shell`}</option>
          {usable
            .filter(({ id }) => id !== 'profile.shell')
            .map(({ id }) => (
              <option key={id} value={id}>
                {profileWords(id)}
              </option>
            ))}
        </Choice>
        {!draft.bare && <ModeChoice {...{ draft, change }} agents={offers.agents ?? NO_AGENTS} />}
        <Choice
          label={t`Network`}
          value={draft.network}
          trouble={at('network_mode')}
          onChange={(network) => change({ network })}
        >
          <option value="">{t`As the profile says`}</option>
          <option value="none">{t`None`}</option>
          <option value="limited">{t`Limited to the profile’s list`}</option>
          <option value="host-only">{t`Chosen ports of this machine`}</option>
          <option value="full">{t`Any public address`}</option>
        </Choice>
        <Choice
          label={t`Lives for`}
          value={draft.ttl}
          trouble={at('ttl')}
          onChange={(ttl) => change({ ttl })}
        >
          <option value="">{t`As the profile says`}</option>
          {livesOf(named(draft.profile)).map(({ ttl, words }) => (
            <option key={ttl} value={ttl}>
              {words}
            </option>
          ))}
        </Choice>
        {!draft.bare && <QueueChoice draft={draft} change={change} />}
        {!draft.bare && draft.agents.length < 2 && (
          <Line
            label={t`Name`}
            hint={t`Left empty: made from repository and branch`}
            value={draft.name}
            trouble={at('name')}
            onChange={(name) => change({ name })}
          />
        )}
      </div>
      {profile !== undefined && <Wants profile={profile} extensions={extensions} />}
      <SharedChoice shared={draft.shared} onChange={(shared) => change({ shared })} />
      <BlockedProfiles profiles={profiles} />
      <NotReady agents={offers.agents} onMended={look} />
    </div>
  );
}

const NONE: readonly Extension[] = [];

function useExtensions(): readonly Extension[] {
  return useAnswer(extensionsOf, 'extensions').value ?? NONE;
}

const extensionsOf = (): ReturnType<typeof api.extensions> => api.extensions();

interface PartProps {
  readonly draft: TaskDraft;
  readonly change: (part: Partial<TaskDraft>) => void;
}

const NO_AGENTS: readonly CatalogueAgent[] = [];

interface ModeProps extends PartProps {
  readonly agents: readonly CatalogueAgent[];
}

function ModeChoice({ draft, change, agents }: ModeProps) {
  const { mode, asks } = draft;
  return (
    <Choice
      label={t`The agent works`}
      value={asks ? `${mode}-asks` : mode}
      onChange={(value) =>
        change({ mode: value.startsWith('tui') ? 'tui' : 'machine', asks: value.endsWith('-asks') })
      }
    >
      <option value="tui">{t`at a terminal`}</option>
      {(asksAtTerminal(draft, agents) || (mode === 'tui' && asks)) && (
        <option value="tui-asks">{t`at a terminal, asking before it acts`}</option>
      )}
      <option value="machine">{t`with cards, without asking`}</option>
      <option value="machine-asks">{t`with cards, asking before it acts`}</option>
    </Choice>
  );
}

/** Whether all chosen agents can be told at a terminal to ask. */
function asksAtTerminal(draft: TaskDraft, agents: readonly CatalogueAgent[]): boolean {
  const able = agents.filter((one) => one.asks_at_terminal).map((one) => one.name);
  return draft.agents.length > 0 && draft.agents.every((name) => able.includes(name));
}

function QueueChoice({ draft, change }: PartProps) {
  return (
    <Choice
      label={t`Queue it while`}
      value={draft.maxWorking}
      onChange={(maxWorking) => change({ maxWorking })}
    >
      <option value="">{t`as the server says`}</option>
      {[1, 2, 3, 5, 8].map((most) => (
        <option key={most} value={most}>
          {plural(most, { one: '# is at work', other: '# are at work' })}
        </option>
      ))}
    </Choice>
  );
}
