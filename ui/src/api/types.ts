/** The page's names for the shapes of the HTTP API. The shapes themselves are generated. */

import type { components } from './schema';

/** The shapes under the API's own names; a view names what it alone uses by them. */
export type Schemas = components['schemas'];

export type SandboxState = Schemas['State'];
export type Isolation = Schemas['IsolationView'];
export type Sandbox = Schemas['SandboxView'];
export type Terminal = Schemas['TerminalView'];
/** An agent of the installation, and whether it works here. */
export type CatalogueAgent = Schemas['CatalogueEntry'];
export type Extension = Schemas['ExtensionView'];
/** A repository's own file, and what its person decided about it. */
export type Project = Schemas['ProjectView'];
export type Repository = Schemas['RepositoryView'];
/** A repository of a sandbox, or the files beside them, with work nobody has outside. */
export type UnpulledPlace = Schemas['UnpulledPlace'];
export type LogLine = Schemas['LogLineView'];
/** What a guest, who came by a share link, has access to. */
export type GuestAccess = Schemas['GuestAccessView'];
export type Me = Pick<Schemas['MeView'], 'id' | 'org_id' | 'name' | 'guest'> & {
  /** The role in the organization; null where the answer has none. */
  readonly role: string | null;
};
/** What may be changed of a terminal. */
export type TerminalChange = Schemas['TerminalChangeBody'];

/** A share link; `MadeShare` has the link itself, which is shown once. */
export type Share = Schemas['ShareView'];
/** What a link offers, before anybody comes in by it. */
export type Invitation = Schemas['InvitationView'];
export type MadeShare = Schemas['MadeView'];
export type Agent = Schemas['AgentView'];
/** What the page offers to do with an agent. */
export type AgentAction = Extract<
  Schemas['ActionBody']['action'],
  'pause' | 'resume' | 'stop' | 'interrupt' | 'unlock'
>;
export type AgentSettings = Schemas['SettingsView'];
export type AgentSetting = Schemas['SettingView'];
export type CardOption = Schemas['OptionView'];
/** One card of `docs/program/cards.md`. */
export type Card = Pick<
  Schemas['CardView'],
  'n' | 'id' | 'rev' | 'kind' | 'state' | 'at' | 'title' | 'text' | 'data' | 'options' | 'cut'
>;
export type CardsPage = Pick<Schemas['CardsView'], 'seq' | 'reset' | 'dropped' | 'agent'> & {
  readonly cards: readonly Card[];
};
export type SecretKind = Schemas['Purpose'];
export type Secret = Schemas['SecretView'];
/** A secret to set. The value goes in and never comes out. */
export type SetSecret = Omit<Schemas['NewSecretBody'], 'name'>;
export type RecordingInfo = Schemas['Recording'];
/** One line a search found, in a terminal or at a moment of a recording. */
export type Found = Schemas['Match'];
export type Reach = Schemas['GrantScope'];
export type Approval = Schemas['ApprovalView'];
export type NetworkRule = Schemas['EgressRule'];
export type Network = Schemas['NetworkView'];
export type NetworkMode = Schemas['NetworkMode'];
export type NetworkChange = Schemas['NetworkBody'];
export type Safety = Schemas['SafetyView'];
/** The body of a create; what is left out takes the profile's or the server's default. */
export type CreateSandbox = Schemas['CreateBody'];
/** An event, as far as the page reads it. */
export type Envelope = Pick<
  Schemas['EventView'],
  'id' | 'stream' | 'event_type' | 'at' | 'reason' | 'payload'
>;

/** A profile; the contract leaves its recipe open, and the page reads these fields of it. */
export type Profile = Schemas['ProfileView'] & {
  readonly description?: string;
  readonly agent?: string | null;
  readonly extension?: string | null;
  readonly image?: string;
  readonly root?: string;
  readonly isolation?: { readonly level: string };
  readonly network?: { readonly mode: string; readonly egress: readonly string[] };
  readonly resources?: Readonly<Record<string, number | null>>;
  readonly setup?: { readonly secret_refs: readonly string[] };
  readonly ttl?: { readonly default: string; readonly max?: string };
};

/** What an agent does. Its texts come from inside a sandbox. */
export type AgentStatus = Schemas['StatusView'];
/** An agent of a sandbox. `id` is its terminal's, where it has one. */
export type SandboxAgent = Schemas['SandboxAgentView'];
/** Something that waits for this person. */
export type InboxItem = Schemas['InboxItemView'];
