/** What the HTTP API says, as `docs/program/api.md` writes it. Shapes only. */

export type SandboxState =
  | 'requested'
  | 'provisioning'
  | 'ready'
  | 'active'
  | 'stopped'
  | 'expired'
  | 'failed'
  | 'destroying'
  | 'destroyed';

export interface Isolation {
  readonly level: string;
  readonly mechanism: string;
  /** Each limit this host cannot give, with why. */
  readonly degraded: readonly string[];
  /** Whether one of those protects the host and other sandboxes. */
  readonly weak: boolean;
  readonly host_uid: number | null;
  readonly init: string;
}

export interface SandboxRepo {
  readonly repo_url: string | null;
  readonly branch: string | null;
  readonly from_branch: string | null;
  readonly path: string;
  readonly key: string | null;
}

export interface Sandbox {
  readonly sandbox_id: string;
  readonly name: string;
  readonly state: SandboxState;
  readonly generation: number;
  readonly reason: string | null;
  readonly profile: { readonly id: string; readonly version: string };
  readonly extension: string;
  readonly agent: string | null;
  readonly network_mode: string;
  /** Words for its first agent; absent from an older server. */
  readonly setup_metadata?: {
    readonly instructions?: string | null;
    readonly instructions_ref?: string | null;
    readonly instructed?: boolean;
  };
  readonly isolation: Isolation | null;
  readonly repos: readonly SandboxRepo[];
  /** Names of secrets whose value itself is inside. */
  readonly exposed_secrets?: readonly string[];
  readonly owner: string;
  readonly created_at: string;
  readonly ready_at: string | null;
  readonly expires_at: string | null;
  readonly max_expires_at: string | null;
  /** It said that its end is near. */
  readonly ends_soon?: boolean;
  readonly retained_until: string | null;
  /** Where its files were written before it was destroyed. */
  readonly kept_at?: string | null;
}

export interface Terminal {
  readonly terminal_id: string;
  readonly name: string | null;
  readonly argv: readonly string[];
  readonly cols: number;
  readonly rows: number;
  readonly state: 'running' | 'exited';
  readonly exit: Readonly<Record<string, unknown>> | null;
  readonly started_at: string;
  readonly title: string | null;
  readonly offset: number;
  readonly viewers: number;
  readonly driver: string | null;
}

export interface Profile {
  readonly id: string;
  readonly version: string;
  readonly description?: string;
  readonly agent?: string | null;
  readonly extension?: string;
  readonly image?: string;
  readonly root?: string;
  readonly isolation?: { readonly level: string };
  readonly network?: { readonly mode: string; readonly egress: readonly string[] };
  readonly resources?: Readonly<Record<string, number | null>>;
  readonly setup?: { readonly secret_refs: readonly string[] };
  readonly ttl?: { readonly default: string };
}

export interface Extension {
  readonly name: string;
  readonly available: boolean;
  readonly reason: string | null;
}

export interface Repository {
  readonly key: string;
  readonly repo_url: string | null;
  readonly bytes: number;
  readonly fetched_at: string | null;
  readonly name?: string | null;
}

/** A repository of a sandbox, or the files beside them, with work nobody has outside. */
export interface UnpulledPlace {
  readonly path: string;
  readonly commits: number;
  readonly tip: string | null;
  readonly subject: string;
  readonly stashes: number;
  readonly changed: readonly string[];
  readonly untracked: readonly string[];
  /** How many files the lists leave out. */
  readonly more: number;
}

export interface LogLine {
  readonly at: string;
  readonly text: string;
}

/** What somebody has who came by a share link. */
export interface Seat {
  readonly share_id: string;
  readonly sandbox_id: string;
  readonly sandbox_name: string;
  readonly sandbox_state: string;
  readonly terminal_id: string | null;
  readonly role: string;
  readonly expires_at: string;
}

export interface Me {
  readonly id: string;
  readonly name: string;
  readonly guest: Seat | null;
}

export interface Share {
  readonly share_id: string;
  readonly terminal_id: string | null;
  readonly role: 'viewer' | 'controller';
  readonly name: string;
  readonly expires_at: string;
  readonly guests: number;
  /** Told once, when it is made. */
  readonly link?: string;
}

export interface Agent {
  readonly id: string;
  readonly agent: string;
  readonly mode: 'tui' | 'machine';
  readonly agent_state: 'running' | 'paused' | 'stopped';
  readonly turn: 'working' | 'waiting';
  readonly watched: boolean;
}

export type AgentAction = 'pause' | 'resume' | 'stop' | 'interrupt';

export interface CardOption {
  readonly id: string;
  readonly label: string;
  readonly effect: string;
}

/** One card of `docs/program/cards.md`. */
export interface Card {
  readonly n: number;
  readonly id: string;
  readonly rev: number;
  readonly kind: string;
  readonly state: 'pending' | 'running' | 'done' | 'failed' | 'declined';
  readonly at: string;
  readonly title: string;
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly options: readonly CardOption[];
  readonly cut: boolean;
}

export interface CardsPage {
  readonly cards: readonly Card[];
  readonly seq: number;
  readonly reset: boolean;
  readonly dropped: number;
  readonly agent: Agent | null;
}

export type SecretKind = 'provider' | 'custom' | 'env' | 'git';

export interface Secret {
  readonly secret_id: string;
  readonly name: string;
  readonly kind: SecretKind;
  readonly scope: string;
  readonly version: number;
  readonly fingerprint: string;
  readonly last4: string;
  readonly provider: string | null;
  readonly hosts: readonly string[];
  /** Request headers that pass with it beside the usual ones. */
  readonly headers: readonly string[];
  readonly remote: string | null;
  readonly env: string | null;
  readonly broker_protected: boolean;
  readonly updated_at: string;
}

/** A secret to set. The value goes in and never comes out. */
export interface SetSecret {
  readonly value: string;
  readonly kind: SecretKind;
  readonly scope: string;
  readonly provider?: string;
  readonly base_url?: string;
  readonly slot?: string;
  readonly slot_name?: string;
  readonly hosts?: readonly string[];
  readonly remote?: string;
  readonly env?: string;
  readonly broker_protected: boolean;
  /** A person read both spellings of a host with letters beyond ASCII. */
  readonly look_alike?: boolean;
}

export interface RecordingInfo {
  readonly recording_id: string;
  readonly name: string;
  /** `recording` while it runs, else why it ended. */
  readonly state: string;
  readonly by: string;
  readonly started_at: string;
  readonly seconds: number;
  readonly bytes: number;
}

/** One line a search found, in a terminal or at a moment of a recording. */
export interface Found {
  readonly terminal_id: string;
  readonly name: string;
  readonly recording_id: string | null;
  readonly seconds: number | null;
  readonly text: string;
  readonly command: string | null;
}

export type Reach = 'once' | 'sandbox' | 'organization';

export interface Approval {
  readonly approval_id: string;
  readonly kind: 'secret' | 'command';
  readonly state: 'pending' | 'granted' | 'used' | 'denied' | 'revoked' | 'expired';
  readonly sandbox_id: string;
  readonly sandbox_name: string;
  /** What a person is shown, spelled out by the server; `digest` stands for it. */
  readonly lines: readonly string[];
  readonly digest: string;
  readonly times: number;
  readonly for: Reach | null;
  readonly asked_at: string;
  readonly until: string | null;
}

export interface NetworkRule {
  readonly host: string;
  readonly ports: readonly number[];
  readonly origin: string;
}

export interface Network {
  readonly mode: string;
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
  readonly host_ports: readonly number[];
  /** Ports of mode `full` beside the usual ones. */
  readonly ports: readonly number[];
  readonly rules: readonly NetworkRule[];
}

export interface NetworkChange {
  readonly mode?: string;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly forget?: readonly string[];
}

export interface Safety {
  readonly layers: readonly {
    readonly number: number;
    readonly name: string;
    readonly in_force: boolean;
    readonly bypassable: boolean;
    readonly text: string;
  }[];
}

/** The body of a create; what is left out takes the profile's or the server's default. */
export interface CreateSandbox {
  readonly profile: string;
  readonly name?: string;
  readonly agent?: string;
  readonly ttl?: string;
  readonly network_mode?: string;
  readonly repos: readonly {
    readonly repo_url: string | null;
    readonly branch: string | null;
    readonly from_branch: string | null;
    readonly key: string | null;
  }[];
  readonly consumer: { readonly actor: 'adm'; readonly harness: 'atoll-page' };
}

export interface Envelope {
  readonly id: string;
  readonly position?: number;
  readonly stream: string;
  readonly event_type: string;
  readonly at: string;
  readonly reason: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
}
