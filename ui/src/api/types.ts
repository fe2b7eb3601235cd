/** What the HTTP API says, as `docs/api.md` writes it. Shapes only. */

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
  /** Runs only because someone asked for it. */
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
  readonly isolation: Isolation | null;
  readonly repos: readonly SandboxRepo[];
  readonly owner: string;
  readonly created_at: string;
  readonly ready_at: string | null;
  readonly expires_at: string | null;
  readonly max_expires_at: string | null;
  readonly retained_until: string | null;
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
}

export interface Repository {
  readonly key: string;
  readonly repo_url: string | null;
  readonly bytes: number;
  readonly fetched_at: string | null;
  readonly name?: string | null;
}

export interface LogLine {
  readonly at: string;
  readonly text: string;
}

export interface Me {
  readonly name: string;
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
  readonly stream: string;
  readonly event_type: string;
  readonly at: string;
  readonly reason: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
}
