/** Generated from docs/openapi.json by `npm run types`: do not edit. */

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The secret of an invitation. */
        readonly AcceptBody: {
            readonly secret: string;
        };
        /**
         * @description The access of the sandbox to its workspace.
         * @enum {string}
         */
        readonly Access: "none" | "ro" | "rw";
        /**
         * @description The action on an agent. `unlock` lets its owner type on while it works. `gaps` are for
         *     `stop`: seconds after each of three INT, and after TERM, before what comes next.
         */
        readonly ActionBody: {
            /** @enum {string} */
            readonly action: "pause" | "resume" | "stop" | "interrupt" | "start" | "yield" | "unlock";
            readonly gaps?: readonly number[] | null;
        };
        /**
         * @description The three kinds of actor of the design.
         * @enum {string}
         */
        readonly ActorKind: "adm" | "agt" | "atm";
        /** @description The actor of an event. */
        readonly ActorView: {
            readonly id: string;
            readonly kind: components["schemas"]["ActorKind"];
        };
        /** @description A new host, and the line that `~/.ssh/authorized_keys` of its user needs. */
        readonly AddedHostView: {
            readonly address: string;
            readonly authorized_key: string;
            readonly capacity: components["schemas"]["HostRoomView"];
            readonly cost_per_hour: components["schemas"]["HostCostView"] | null;
            readonly fingerprint: string | null;
            readonly host_id: string;
            readonly kept: number;
            readonly kind: components["schemas"]["HostKind"];
            readonly labels: {
                readonly [key: string]: string;
            };
            readonly name: string;
            readonly organization: string | null;
            readonly overcommit: number;
            readonly profile: string | null;
            readonly region: string;
            readonly state: components["schemas"]["HostState"];
            readonly used: components["schemas"]["HostRoomView"];
        };
        /**
         * @description The side that the working tree is compared with.
         * @enum {string}
         */
        readonly Against: "base" | "turn" | "uncommitted";
        /**
         * @description An agent to start, without a `mode` at a terminal where it has that one. `resume` resumes its
         *     last conversation, `conversation` the one of that id, as `agent.conversation` events name it.
         *     `permissions: ask` makes a machine request approval before it acts; at a terminal only agents
         *     that can be told so take it. `softlock: strict` also keeps the owner from typing while it works;
         *     a sandbox that is strict makes every agent so.
         */
        readonly AgentBody: {
            readonly agent: string;
            /** @default 80 */
            readonly cols?: number;
            readonly conversation?: string | null;
            readonly cwd?: string | null;
            readonly env?: {
                readonly [key: string]: string;
            } | null;
            /**
             * @default tui
             * @enum {string}
             */
            readonly mode?: "tui" | "machine";
            readonly name?: string | null;
            /**
             * @default allow
             * @enum {string}
             */
            readonly permissions?: "allow" | "ask";
            readonly prompt?: string | null;
            /** @default false */
            readonly resume?: boolean;
            /** @default 24 */
            readonly rows?: number;
            /** @default owner */
            readonly softlock?: components["schemas"]["Strictness"];
        };
        /** @description A message of the agent; `params` are its own JSON, as text. */
        readonly AgentEventItem: {
            readonly method: string;
            /** @default null */
            readonly params?: string;
            readonly server_request_id?: string | null;
            readonly thread_id?: string | null;
        };
        /** @description The sandbox's agents. */
        readonly AgentList: {
            readonly agents: readonly components["schemas"]["AgentView"][];
        };
        /**
         * @description A login to begin: by device code (`method` 1), in a browser (0), or by an API key (2), which
         *     alone has `api_key`, and `provider` where the agent calls several.
         */
        readonly AgentLoginBody: {
            /** @default codex */
            readonly agent?: string;
            /** @default  */
            readonly api_key?: string;
            /** @default 1 */
            readonly method?: number;
            /** @default  */
            readonly provider?: string;
        };
        /** @description The caller's logins, oldest first. */
        readonly AgentLoginList: {
            readonly logins: readonly components["schemas"]["AgentLoginView"][];
            readonly next: string | null;
        };
        /**
         * @description A login of an agent. `token_ref` is the secret that holds its tokens, which nobody reads.
         *     While it waits for its person, `page` is where they confirm it, by device code with `user_code`.
         *     `expires_at` is the end of its token, which is refreshed before; null for a key. `reason` says
         *     why it ended. `provider` is that of a key. `exposed_to` names where its access token is put
         *     inside.
         */
        readonly AgentLoginView: {
            readonly agent: string;
            readonly created_at: string;
            readonly expires_at: string | null;
            readonly exposed_to: readonly string[];
            readonly id: string;
            readonly in_use: boolean;
            readonly method: number;
            readonly page: string;
            readonly provider: string;
            readonly reason: string;
            readonly scopes: readonly string[];
            readonly status: components["schemas"]["LoginState"];
            readonly token_ref: string;
            readonly user_code: string;
        };
        /**
         * @description The mode of an agent: at a terminal, or as a machine that is driven by programs.
         * @enum {string}
         */
        readonly AgentMode: "tui" | "machine";
        /**
         * @description A turn that ended: the one with this `number`, from 1, of the agent `agent_id`, which is an
         *     `agent`.
         */
        readonly AgentTurnView: {
            readonly agent: string;
            readonly agent_id: string;
            readonly number: number;
        };
        /**
         * @description An agent. `id` is its terminal's, where it has one. `turn` tells whether it works or waits
         *     for its person, `watched` whether anything reports that; `status` what it does.
         */
        readonly AgentView: {
            readonly agent: string;
            /** @enum {string} */
            readonly agent_state: "running" | "paused" | "stopped";
            readonly cards: number;
            readonly id: string;
            /** @enum {string} */
            readonly mode: "tui" | "machine";
            readonly model: string;
            readonly permission_mode: string;
            readonly softlock: components["schemas"]["Strictness"];
            readonly started_at: string;
            readonly status: components["schemas"]["StatusView"] | null;
            /** @enum {string} */
            readonly turn: "working" | "waiting";
            readonly watched: boolean;
        } & {
            readonly [key: string]: unknown;
        };
        /** @description An answer to a card: the id of one of its options, or words. */
        readonly AnswerBody: {
            readonly option?: string | null;
            readonly text?: string | null;
        };
        /**
         * @description The way to answer: a person decides an approval, a held push or an end, an agent takes the
         *     answer by its protocol, or at its terminal only.
         * @enum {string}
         */
        readonly AnswerBy: "person" | "protocol" | "terminal";
        /** @description The approvals, newest first. */
        readonly ApprovalList: {
            readonly approvals: readonly components["schemas"]["ApprovalView"][];
            readonly next: string | null;
        };
        /**
         * @description The state of an approval. Only `pending` can be decided, only `granted` revoked.
         * @enum {string}
         */
        readonly ApprovalState: "pending" | "granted" | "used" | "denied" | "revoked" | "expired";
        /**
         * @description A request and its decision. `until`: when a pending one expires, a grant ends, or a denied
         *     one may be requested again.
         */
        readonly ApprovalView: {
            readonly approval_id: string;
            readonly asked_at: string;
            readonly decided_at: string | null;
            readonly decided_by: string | null;
            readonly digest: string;
            readonly for: components["schemas"]["GrantScope"] | null;
            /** @enum {string} */
            readonly kind: "secret" | "command" | "host" | "tool";
            readonly lines: readonly string[];
            readonly reason: string | null;
            readonly sandbox_id: string;
            readonly sandbox_name: string;
            readonly state: components["schemas"]["ApprovalState"];
            readonly subject: components["schemas"]["SubjectView"];
            readonly times: number;
            readonly until: string | null;
        };
        /**
         * @description A grant.
         *
         *     `shown` is the `digest` of what the person saw; `words` are those of a confirmation and needed
         *     from a terminal. `ttl` None: as long as the scope itself.
         */
        readonly ApproveBody: {
            /** @default once */
            readonly for?: components["schemas"]["GrantScope"];
            readonly shown: string;
            readonly ttl?: (number | string) | null;
            readonly words?: string | null;
        };
        /** @description A file that an execution made: its media type, its bytes, and its SHA-256 in hexadecimal. */
        readonly ArtifactBody: {
            readonly name: string;
            readonly sha256: string;
            readonly size: number;
            readonly type: string;
        };
        /**
         * @description The consequence of a budget that is spent: `warn` shows it and writes an event, `refuse` also
         *     refuses new sandboxes and requests to models that would spend it.
         * @enum {string}
         */
        readonly AtLimit: "warn" | "refuse";
        /**
         * @description An entry of the audit log. `n` counts from 1 in the organization. `hash` is SHA-256 over all
         *     other fields, of which `previous` is the hash of the entry before.
         */
        readonly AuditEntryView: {
            readonly actor_id: string;
            readonly actor_kind: components["schemas"]["ActorKind"];
            readonly address: string;
            readonly at: string;
            readonly event_id: string;
            readonly event_type: string;
            readonly hash: string;
            readonly n: number;
            readonly org_id: string;
            readonly payload: {
                readonly [key: string]: unknown;
            };
            readonly previous: string;
            readonly reason: string | null;
            readonly request_id: string;
            readonly stream: string;
            readonly token_id: string;
        };
        /**
         * @description Entries in their order. `next` is the following `after`. `previous` is the `before` of the
         *     entries before these, null when there are none. `gap` is the part after the requested number
         *     that is no longer kept; where its `to` is less than its `after`, the log was set back.
         */
        readonly AuditPage: {
            readonly entries: readonly components["schemas"]["AuditEntryView"][];
            readonly gap: components["schemas"]["Gap"] | null;
            readonly next: number;
            readonly previous: number | null;
        };
        /**
         * @description The outcome of a verification: how many entries hold, the newest of them (`n`, `hash`), and
         *     what is wrong, null when the whole chain holds.
         */
        readonly AuditVerdictView: {
            readonly checkpoint: components["schemas"]["ChainCheckpointView"] | null;
            readonly entries: number;
            readonly hash: string;
            readonly n: number;
            readonly public_key: string;
            readonly wrong: string | null;
        };
        /** @description The places of an organization's workers, by name. */
        readonly BackendHealthList: {
            readonly backends: readonly components["schemas"]["BackendHealthView"][];
        };
        /**
         * @description A place of workers: `workers` run there now, `lost` were lost in the last day, both of this
         *     organization. The health is null where nothing was started, and to who does not run the
         *     installation. `success` is from 0 to 1.
         */
        readonly BackendHealthView: {
            readonly attempts: number | null;
            readonly breaker: ("closed" | "open" | "half_open") | null;
            readonly lost: number;
            readonly p50_ms: number | null;
            readonly p95_ms: number | null;
            readonly placement: components["schemas"]["WorkerPlaceView"];
            readonly success: number | null;
            readonly workers: number;
        };
        /** @description An item on a dashboard, and the dashboard's name. */
        readonly BoardPlaceView: {
            readonly dashboard_id: string;
            readonly dashboard_name: string;
            readonly item_id: string;
        };
        /**
         * @description The bounds of the installation for the caller's sandboxes, and the organization's; null where
         *     it takes nothing away.
         */
        readonly BoundsOfNetworksView: {
            readonly installation: components["schemas"]["NetworkBoundsView"];
            readonly organization: components["schemas"]["NetworkBoundsView"] | null;
        };
        /**
         * @description `open`: left out for a while. `half-open`: that while is over, and one attempt may tell.
         * @enum {string}
         */
        readonly Breaker: "closed" | "open" | "half-open";
        /**
         * @description A budget of one subject: a person by id, name or email, a sandbox by id or name, an agent by
         *     name, a consumer as `harness` or `harness/id`. Without `subject` it is the caller's own, or of
         *     the caller's organization. `amount_micros` are whole millionths of the currency.
         */
        readonly BudgetBody: {
            readonly amount_micros: number;
            /** @default refuse */
            readonly at_limit?: components["schemas"]["AtLimit"];
            /** @default USD */
            readonly currency?: string;
            readonly period: components["schemas"]["BudgetPeriod"];
            readonly scope: components["schemas"]["BudgetScope"];
            readonly subject?: string | null;
            /** @default [] */
            readonly warn_at?: readonly number[];
        };
        /** @description Budgets, by scope, subject and period. */
        readonly BudgetList: {
            readonly budgets: readonly components["schemas"]["BudgetView"][];
        };
        /**
         * @description The time that a budget's amount is for: all time, or each day or month in UTC.
         * @enum {string}
         */
        readonly BudgetPeriod: "total" | "day" | "month";
        /**
         * @description The scope of a budget: what spends it. `person` are the sandboxes of a person, `consumer`
         *     those made for a harness, or for one session, run or job of it.
         * @enum {string}
         */
        readonly BudgetScope: "organization" | "person" | "agent" | "consumer" | "sandbox";
        /**
         * @description A budget, and what is spent of it in its current period, which ends at `ends_at`, null for
         *     all time. `warned` is the highest percent of `warn_at` that is spent, null where none is.
         */
        readonly BudgetView: {
            readonly amount_micros: number;
            readonly at_limit: components["schemas"]["AtLimit"];
            readonly budget_id: string;
            readonly currency: string;
            readonly ends_at: string | null;
            readonly left_micros: number;
            readonly period: components["schemas"]["BudgetPeriod"];
            readonly reached: boolean;
            readonly scope: components["schemas"]["BudgetScope"];
            readonly set_at: string;
            readonly set_by: string;
            readonly spent_micros: number;
            readonly subject: string;
            readonly warn_at: readonly number[];
            readonly warned: number | null;
        };
        /**
         * @description The capabilities of a backend; `abilities` are optional protocols such as `snapshot`. `gpus`
         *     are the kinds of GPU that a sandbox can have, `images` the kinds of image that it shows (`host`
         *     is the machine's own `/usr`). `doors`: broker and egress proxy are served. `host_kind` is null
         *     on a vendor's machines; `needs_key`: a secret of the kind `extension` pays for them. `pools`: it
         *     builds environments before anybody asks for them.
         */
        readonly CapabilitiesView: {
            readonly abilities: readonly string[];
            readonly closes_network: boolean;
            readonly cost_per_hour: components["schemas"]["HostCostView"] | null;
            readonly doors: boolean;
            readonly gpu: boolean;
            readonly gpus: readonly string[];
            readonly host_kind: components["schemas"]["HostKind"] | null;
            readonly images: readonly string[];
            readonly isolation: components["schemas"]["IsolationLevel"];
            readonly latency_class: string;
            readonly limits: components["schemas"]["LimitsView"];
            readonly needs_key: boolean;
            readonly persistence: boolean;
            readonly pools: boolean;
            readonly pricing: string;
            readonly regions: readonly string[];
            readonly snapshots: components["schemas"]["SnapshotPromiseView"] | null;
        };
        /** @description The room for sandboxes that run; what is left out or null is not limited. */
        readonly CapacityBody: {
            readonly cpu?: number | null;
            readonly memory_mb?: number | null;
            readonly sandboxes?: number | null;
        };
        /** @description A card; see docs/program/cards.md. A kind a reader does not know is shown as text. */
        readonly CardView: {
            readonly at: string;
            readonly cut: boolean;
            readonly data: {
                readonly [key: string]: unknown;
            };
            readonly id: string;
            readonly kind: string;
            readonly n: number;
            readonly options: readonly components["schemas"]["OptionView"][];
            readonly rev: number;
            readonly seq: number;
            /** @enum {string} */
            readonly state: "pending" | "running" | "done" | "failed" | "declined";
            readonly text: string;
            readonly title: string;
            readonly v: number;
        } & {
            readonly [key: string]: unknown;
        };
        /** @description Cards in their order. With `reset` they are all cards; `seq` is the next `since`. */
        readonly CardsView: {
            readonly agent: components["schemas"]["AgentView"] | null;
            readonly cards: readonly components["schemas"]["CardView"][];
            readonly dropped: number;
            readonly more: boolean;
            readonly reset: boolean;
            readonly seq: number;
            /** @constant */
            readonly type: "cards";
            readonly v: number;
        } & {
            readonly [key: string]: unknown;
        };
        /**
         * @description An agent of this installation. `mend` says what to do about `reason`; `prompts`: it takes a
         *     task, `machine`: programs may drive it, `asks_at_terminal`: there, too, it can be told to ask
         *     before it acts.
         */
        readonly CatalogueEntry: {
            readonly about_mib: number;
            readonly aliases: readonly string[];
            readonly asks_at_terminal: boolean;
            readonly install: components["schemas"]["InstallView"] | null;
            readonly installable: boolean;
            readonly machine: boolean;
            readonly mend: string | null;
            readonly name: string;
            readonly prompts: boolean;
            readonly providers: readonly string[];
            readonly reason: string | null;
            readonly state: components["schemas"]["ReadinessState"];
        };
        /** @description Every agent, those that work first. */
        readonly CatalogueList: {
            readonly agents: readonly components["schemas"]["CatalogueEntry"][];
        };
        /**
         * @description The place where the kept entries begin: the chain had this hash after entry `n`. `signature`
         *     is Ed25519 by the key `key_id`.
         */
        readonly ChainCheckpointView: {
            readonly at: string;
            readonly hash: string;
            readonly key_id: string;
            readonly n: number;
            readonly org_id: string;
            readonly signature: string;
        };
        /**
         * @description The way in which a file differs.
         * @enum {string}
         */
        readonly ChangeKind: "added" | "modified" | "deleted" | "renamed" | "copied" | "retyped" | "unmerged";
        /**
         * @description A file that differs. `uncommitted` and `untracked` tell how much of it git has; `digest`
         *     changes whenever the file does. A binary file has sizes in bytes instead of counts, where its
         *     sides are known.
         */
        readonly ChangedFile: {
            readonly additions: number;
            readonly binary: boolean;
            readonly deletions: number;
            readonly digest: string;
            readonly kind: components["schemas"]["ChangeKind"];
            readonly new_mode: string;
            readonly new_size: number | null;
            readonly old_mode: string;
            readonly old_path: string | null;
            readonly old_size: number | null;
            readonly path: string;
            readonly uncommitted: boolean;
            readonly untracked: boolean;
        };
        /**
         * @description The state of a check.
         * @enum {string}
         */
        readonly CheckState: "pending" | "passed" | "failed" | "skipped";
        /** @description The result of a program over the commit. */
        readonly CheckView: {
            readonly name: string;
            readonly state: components["schemas"]["CheckState"];
        };
        /** @description The checkpoints of a repository, newest first. */
        readonly CheckpointList: {
            readonly checkpoints: readonly components["schemas"]["CheckpointView"][];
        };
        /** @description A state of the files; `subject` names what followed it. */
        readonly CheckpointView: {
            readonly at: string;
            readonly commit: string;
            readonly number: number;
            readonly subject: string;
        };
        /** @description A value that the agent offers, and its name for people. */
        readonly ChoiceView: {
            readonly id: string;
            readonly label: string;
        };
        /** @description The machine on which the command line runs, for the person who confirms. */
        readonly CliLoginBody: {
            /** @default  */
            readonly machine?: string;
        };
        /** @description A login that begins: the page at `url` shows `code`; `secret` fetches the token. */
        readonly CliLoginView: {
            readonly code: string;
            readonly expires_in: number;
            readonly interval: number;
            readonly secret: string;
            readonly url: string;
        };
        /** @description The secret that `POST /auth/cli` returned. */
        readonly CliPollBody: {
            readonly secret: string;
        };
        /** @description The token of a confirmed login, once; without, the login still waits. */
        readonly CliPollView: {
            readonly expires_at: string | null;
            readonly token: string | null;
            readonly token_id: string | null;
        };
        /** @description A message, and the files to commit: all when none is named. */
        readonly CommitBody: {
            readonly message: string;
            readonly paths?: readonly string[] | null;
            /** @default 0 */
            readonly repo?: number;
        };
        /**
         * @description Commits, children before their parents, and the newest branches and tags. `digest` changes
         *     when one of these moves: pages with another digest do not fit together.
         */
        readonly CommitPage: {
            readonly branch: string | null;
            readonly commits: readonly components["schemas"]["CommitView"][];
            readonly digest: string;
            readonly head: string | null;
            readonly next: string | null;
            readonly refs: readonly components["schemas"]["CommitRef"][];
        };
        /** @description A branch, a remote's branch or a tag, and its commit. */
        readonly CommitRef: {
            readonly commit: string;
            readonly kind: components["schemas"]["RefKind"];
            readonly name: string;
        };
        /** @description A commit: the first line of its message, and at most 16 parents. */
        readonly CommitView: {
            readonly at: string;
            readonly author: string;
            readonly commit: string;
            readonly email: string;
            readonly parents: readonly string[];
            readonly subject: string;
        };
        /** @description The new commit. */
        readonly CommittedView: {
            readonly commit: string;
        };
        /** @description The words that a person at a terminal repeats, valid once until `expires_at`. */
        readonly ConfirmationView: {
            readonly digest: string;
            readonly expires_at: string;
            readonly words: string;
        };
        /**
         * @description The git command that stopped at a conflict and waits to be continued.
         * @enum {string}
         */
        readonly ConflictKind: "rebase" | "merge" | "cherry_pick" | "revert";
        /**
         * @description A git command that stopped at a conflict in repository number `repo`, onto or with `onto`.
         *     `files` are in conflict, `more` counts those left out.
         */
        readonly ConflictView: {
            readonly files: readonly string[];
            readonly kind: components["schemas"]["ConflictKind"];
            readonly more: number;
            readonly onto: string;
            readonly repo: number;
        };
        /** @description The answer that Google sent by the browser; without consent `code` is empty. */
        readonly ConsentBody: {
            /** @default  */
            readonly code?: string;
            readonly state: string;
        };
        /** @description The address at Google where the person consents. */
        readonly ConsentView: {
            readonly url: string;
        };
        /**
         * @description Limits that a backend must keep; what is left out or null is no limit. What is unknown of a
         *     backend keeps no limit. `min_success` is a share from 0 to 1.
         */
        readonly ConstraintsBody: {
            readonly execution_mode?: components["schemas"]["ExecutionMode"] | null;
            readonly gpu?: string | null;
            readonly max_cost_per_hour?: components["schemas"]["CostBody"] | null;
            readonly max_ready_ms?: number | null;
            readonly min_success?: number | null;
            readonly region?: string | null;
            readonly require_isolation?: components["schemas"]["IsolationLevel"] | null;
        };
        /** @description The consumer for which the sandbox exists; at most one of the three ids is usual. */
        readonly Consumer: {
            readonly actor: components["schemas"]["ActorKind"];
            readonly harness: string | null;
            readonly job_id: string | null;
            readonly run_id: string | null;
            readonly session_id: string | null;
        };
        /** @description The consumer for which the sandbox exists. */
        readonly ConsumerBody: {
            /** @default adm */
            readonly actor?: components["schemas"]["ActorKind"];
            readonly harness?: string | null;
            readonly job_id?: string | null;
            readonly run_id?: string | null;
            readonly session_id?: string | null;
        };
        /** @description The session, run or job that ended: a harness and exactly one of its ids. */
        readonly ConsumerEndBody: {
            readonly harness: string;
            readonly job_id?: string | null;
            readonly run_id?: string | null;
            readonly session_id?: string | null;
        };
        /** @description The usage of consumers, the one that created a sandbox last first. */
        readonly ConsumerUsageList: {
            readonly consumers: readonly components["schemas"]["ConsumerUsageView"][];
        };
        /**
         * @description The usage of a consumer: its sandboxes, destroyed ones too, those of them that run, and what
         *     passed their doors in their whole lives.
         */
        readonly ConsumerUsageView: {
            readonly counts: components["schemas"]["DoorCountsView"];
            readonly harness: string;
            readonly job_id: string | null;
            readonly run_id: string | null;
            readonly running: number;
            readonly sandboxes: number;
            readonly session_id: string | null;
        };
        /**
         * @description The fate of the agent's conversation in a copy: it goes on, the agent begins anew, or no
         *     agent starts.
         * @enum {string}
         */
        readonly Conversation: "continue" | "fresh" | "none";
        /** @description A price of an hour, in millionths of a currency (ISO 4217). */
        readonly CostBody: {
            /** @default USD */
            readonly currency?: string;
            readonly micros: number;
        };
        /**
         * @description A request for a sandbox; every field may be left out. `host` is the one it is placed on, and
         *     no other then; `route` narrows the profile's choice of a backend.
         */
        readonly CreateBody: {
            readonly agent?: string | null;
            readonly agent_catalogue?: readonly string[] | null;
            /**
             * @default {
             *       "actor": "adm"
             *     }
             */
            readonly consumer?: components["schemas"]["ConsumerBody"];
            /** @default [] */
            readonly copies?: readonly string[];
            readonly cwd?: string | null;
            readonly env?: {
                readonly [key: string]: string;
            };
            readonly host?: string | null;
            /** @default {} */
            readonly inputs?: components["schemas"]["InputsBody"];
            readonly lifecycle_webhook?: components["schemas"]["LifecycleWebhookBody"] | null;
            /** @default [] */
            readonly mounts?: readonly components["schemas"]["MountBody"][];
            readonly name?: string | null;
            readonly network_mode?: components["schemas"]["NetworkMode"] | null;
            /** @default shell */
            readonly profile?: string;
            readonly profile_version?: string | null;
            readonly project?: components["schemas"]["ProjectUseBody"] | null;
            readonly prompt?: string | null;
            /** @default [] */
            readonly repos?: readonly components["schemas"]["RepoBody"][];
            /**
             * @default {
             *       "accept_open_network": false
             *     }
             */
            readonly route?: components["schemas"]["RouteOptionsBody"];
            readonly scope?: components["schemas"]["Scope"] | null;
            readonly seed?: components["schemas"]["SeedBody"] | null;
            /**
             * @default {
             *       "secret_refs": []
             *     }
             */
            readonly setup_metadata?: components["schemas"]["SetupBody"];
            readonly softlock?: components["schemas"]["Strictness"] | null;
            /**
             * @default {
             *       "mode": "tui",
             *       "permissions": "allow"
             *     }
             */
            readonly task?: components["schemas"]["TaskBody"];
            readonly ttl?: (number | string) | null;
            /** @default {} */
            readonly workspace?: components["schemas"]["WorkspaceBody"];
        };
        /**
         * @description An agent to start in the home sandbox: at a terminal where it has such a mode, else as a
         *     machine, whose cards are read.
         */
        readonly DashboardAgentBody: {
            readonly agent: string;
            /** @default 80 */
            readonly cols?: number;
            /**
             * @default allow
             * @enum {string}
             */
            readonly permissions?: "allow" | "ask";
            /** @default 24 */
            readonly rows?: number;
        };
        /** @description An agent that was started. At a terminal (`tui`) its id is the terminal's. */
        readonly DashboardAgentView: {
            readonly agent_id: string;
            /** @enum {string} */
            readonly mode: "tui" | "machine";
            readonly sandbox_id: string;
        };
        /**
         * @description A dashboard to make. `template` names the items it begins with: `blank`, `agent-and-notes`
         *     or `review`.
         */
        readonly DashboardBody: {
            readonly name: string;
            /** @default private */
            readonly scope?: components["schemas"]["DashboardScope"];
            /** @default blank */
            readonly template?: string;
        };
        /** @description A change of a dashboard; what is left out stays. */
        readonly DashboardChangeBody: {
            readonly name?: string | null;
            readonly scope?: components["schemas"]["DashboardScope"] | null;
        };
        /** @description A comment to write on an item. `mentions` are ids of people who see the dashboard. */
        readonly DashboardCommentBody: {
            readonly item_id: string;
            /** @default [] */
            readonly mentions?: readonly string[];
            readonly text: string;
        };
        /** @description A change of a comment. */
        readonly DashboardCommentChangeBody: {
            readonly resolved: boolean;
        };
        /** @description The comments of a dashboard, oldest first. */
        readonly DashboardCommentList: {
            readonly comments: readonly components["schemas"]["DashboardCommentView"][];
            readonly next: string | null;
        };
        /**
         * @description A comment. `author` is an id; `author_name` is how they were called then, null where they had
         *     no name.
         */
        readonly DashboardCommentView: {
            readonly at: string;
            readonly author: string;
            readonly author_name: string | null;
            readonly id: string;
            readonly item_id: string;
            readonly mentions: readonly string[];
            readonly resolved: boolean;
            readonly text: string;
        };
        /** @description A copy to make. */
        readonly DashboardCopyBody: {
            readonly name: string;
        };
        /** @description The dashboards that the caller may see, newest first. */
        readonly DashboardList: {
            readonly dashboards: readonly components["schemas"]["DashboardView"][];
            readonly next: string | null;
        };
        /** @description The people and groups with a role, the owner first. */
        readonly DashboardPeople: {
            readonly people: readonly components["schemas"]["DashboardPersonView"][];
        };
        /** @description A person (by id) or a group (`group:<name>`) with a role on a dashboard. */
        readonly DashboardPersonView: {
            readonly role: components["schemas"]["DashboardRole"];
            readonly since: string;
            readonly subject: string;
        };
        /**
         * @description A person's role on a dashboard, from the most to the least.
         * @enum {string}
         */
        readonly DashboardRole: "owner" | "editor" | "viewer";
        /** @description A role of a person or group: `editor` or `viewer`. */
        readonly DashboardRoleBody: {
            readonly role: components["schemas"]["DashboardRole"];
        };
        /**
         * @description The people who see a dashboard: those it names (`private`), or all members (`shared`).
         * @enum {string}
         */
        readonly DashboardScope: "private" | "shared";
        /**
         * @description A link to make. With `terminals` its guests watch the terminals on the dashboard, too. With
         *     `edits` they change notes and the like, arrange and comment; with both they type at a terminal
         *     once somebody gives them control.
         */
        readonly DashboardShareBody: {
            /** @default false */
            readonly edits?: boolean;
            readonly name?: string | null;
            /** @default false */
            readonly terminals?: boolean;
            /**
             * @description Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.
             * @default 3600
             * @example 4h
             */
            readonly ttl?: number | string;
        };
        /** @description The valid links of a dashboard. */
        readonly DashboardShareList: {
            readonly shares: readonly components["schemas"]["DashboardShareView"][];
        };
        /**
         * @description A link just made: `link` is returned only once, and stored nowhere. `local_only`: no other
         *     machine can open it.
         */
        readonly DashboardShareMadeView: {
            readonly created_at: string;
            readonly dashboard_id: string;
            readonly edits: boolean;
            readonly expires_at: string;
            readonly guest_names: readonly string[];
            readonly guests: number;
            readonly link: string;
            readonly local_only: boolean;
            readonly name: string;
            readonly share_id: string;
            readonly terminals: boolean;
        };
        /**
         * @description A link. `guests` is how many came by it and may still be present, `guest_names` who they
         *     are.
         */
        readonly DashboardShareView: {
            readonly created_at: string;
            readonly dashboard_id: string;
            readonly edits: boolean;
            readonly expires_at: string;
            readonly guest_names: readonly string[];
            readonly guests: number;
            readonly name: string;
            readonly share_id: string;
            readonly terminals: boolean;
        };
        /** @description A terminal to open in the home sandbox; without `agent` and `argv` it is a shell. */
        readonly DashboardTerminalBody: {
            readonly agent?: string | null;
            readonly argv?: readonly string[] | null;
            readonly cols?: number | null;
            readonly cwd?: string | null;
            readonly name?: string | null;
            readonly rows?: number | null;
        };
        /** @description A terminal that was opened. */
        readonly DashboardTerminalView: {
            readonly sandbox_id: string;
            readonly terminal_id: string;
        };
        /**
         * @description A dashboard, and the caller's role on it. `sandbox_id` is its home sandbox, null before its
         *     first terminal; `linked` are other sandboxes shown on it. `items` counts what is on it;
         *     `present` are the people who are on it now, as far as this replica has it open.
         */
        readonly DashboardView: {
            readonly created_at: string;
            readonly id: string;
            readonly items: number;
            readonly linked: readonly string[];
            readonly name: string;
            readonly owner: string;
            readonly present: readonly components["schemas"]["PresentPersonView"][];
            readonly role: components["schemas"]["DashboardRole"];
            readonly sandbox_id: string | null;
            readonly scope: components["schemas"]["DashboardScope"];
            readonly updated_at: string;
        };
        /** @description A decision that is remembered. */
        readonly DecidedView: {
            readonly decided_at: string;
            readonly decision: components["schemas"]["ProjectDecision"];
            readonly digest: string;
            readonly file: string;
            readonly proposals: readonly components["schemas"]["ProposalView"][];
            readonly repository: string;
        };
        /** @description A decision. `shown` is the `digest` of what the person saw. */
        readonly DecisionBody: {
            readonly decision: components["schemas"]["ProjectDecision"];
            readonly repository: components["schemas"]["ProjectBody"];
            readonly shown: string;
        };
        /**
         * @description The rules of the caller's organization and of the installation, and the policy that profiles
         *     without one follow by them.
         */
        readonly DefaultRouteView: {
            readonly effective: components["schemas"]["RoutePolicyView"];
            readonly installation: components["schemas"]["RouteRulesView"];
            readonly organization: components["schemas"]["RouteRulesView"];
        };
        /** @description A page by position; `next` is the following `after`. */
        readonly DeliveryPage: {
            readonly deliveries: readonly components["schemas"]["DeliveryView"][];
            readonly next: number;
        };
        /**
         * @description State of a delivery. The later events of a stream wait while one is `retrying`. One that a
         *     person sends again is `replaying`; nothing waits for it.
         * @enum {string}
         */
        readonly DeliveryState: "retrying" | "replaying" | "dead";
        /** @description An event that is not delivered. `next_at` is the next attempt, null for a dead letter. */
        readonly DeliveryView: {
            readonly attempts: number;
            readonly event_id: string;
            readonly event_type: string;
            readonly failed_at: string | null;
            readonly next_at: string | null;
            readonly position: number;
            readonly reason: string | null;
            readonly state: components["schemas"]["DeliveryState"];
            readonly stream: string;
        };
        /** @description A piece of text that the agent says; `params` are its own JSON, as text. */
        readonly DeltaItem: {
            readonly method: string;
            /** @default null */
            readonly params?: string;
        };
        /** @description Pieces of text after item `after` and before the next one; 0 is before the first. */
        readonly DeltasBody: {
            readonly after: number;
            readonly pieces: readonly components["schemas"]["DeltaItem"][];
        };
        /** @description The caller's desktops, by name. */
        readonly DesktopList: {
            readonly desktops: readonly components["schemas"]["DesktopView"][];
        };
        /**
         * @description A linked desktop. `present`: its lane runs. `heard_at` is when that was heard last, null
         *     where it never was, and once it has ended. `isolation` is the wall that it reports, null before
         *     its lane has run. `workers` are those that it has.
         */
        readonly DesktopView: {
            readonly heard_at: string | null;
            readonly isolation: components["schemas"]["IsolationView"] | null;
            readonly linked_at: string;
            readonly name: string;
            readonly present: boolean;
            readonly workers: readonly string[];
        };
        /** @description Changes line by line; `truncated` when some are missing. */
        readonly DiffView: {
            readonly files: readonly components["schemas"]["FileDiff"][];
            readonly truncated: boolean;
        };
        /** @description A changed file, as `GET …/changes` showed it with `digest`; with `hunk` only that part. */
        readonly DiscardBody: {
            /** @default uncommitted */
            readonly against?: components["schemas"]["Against"];
            readonly checkpoint?: number | null;
            readonly digest: string;
            readonly hunk?: components["schemas"]["HunkBody"] | null;
            readonly path: string;
            /** @default 0 */
            readonly repo?: number;
        };
        /**
         * @description The end of a connection. `revoked` is false when Google could not be reached: the person ends
         *     the consent in their Google account.
         */
        readonly DisconnectedView: {
            readonly revoked: boolean;
        };
        /** @description A pull request with its checks by name, and its comments, oldest first. */
        readonly DiscussedPullView: {
            readonly base: string;
            readonly branch: string;
            readonly checks: readonly components["schemas"]["CheckView"][];
            readonly comments: readonly components["schemas"]["ForgeCommentView"][];
            readonly commit: string;
            readonly draft: boolean;
            readonly existed: boolean;
            readonly number: number;
            readonly state: components["schemas"]["PullState"];
            readonly title: string;
            readonly url: string;
        };
        /**
         * @description The state that files are kept in: as after a loss of power, or as after all that was written
         *     had reached the disk.
         * @enum {string}
         */
        readonly DiskPromise: "crash" | "quiesced";
        /**
         * @description Counts of what passed the doors: `bytes_in` went from sandboxes into the network, `bytes_out`
         *     came back. Tokens are those of model providers, partly estimated.
         */
        readonly DoorCountsView: {
            readonly bytes_in: number;
            readonly bytes_out: number;
            readonly refused: number;
            readonly requests: number;
            readonly tokens_in: number;
            readonly tokens_out: number;
        };
        /** @description A drain. With `evacuate` the stopped sandboxes of the host move to other hosts. */
        readonly DrainBody: {
            /** @default false */
            readonly evacuate?: boolean;
        };
        /** @description A drained host. `evacuation` is null where none was asked for. */
        readonly DrainedHostView: {
            readonly address: string;
            readonly capacity: components["schemas"]["HostRoomView"];
            readonly cost_per_hour: components["schemas"]["HostCostView"] | null;
            readonly evacuation: components["schemas"]["EvacuationView"] | null;
            readonly fingerprint: string | null;
            readonly host_id: string;
            readonly kept: number;
            readonly kind: components["schemas"]["HostKind"];
            readonly labels: {
                readonly [key: string]: string;
            };
            readonly name: string;
            readonly organization: string | null;
            readonly overcommit: number;
            readonly profile: string | null;
            readonly region: string;
            readonly state: components["schemas"]["HostState"];
            readonly used: components["schemas"]["HostRoomView"];
        };
        /**
         * @description A file of the workspace. It becomes a new file in `folder`, or with `file` a new version of
         *     that one. `secrets`: whether bytes with a secret of the owner may go; only the owner allows
         *     it.
         */
        readonly DriveExportBody: {
            readonly file?: string | null;
            /** @default root */
            readonly folder?: string;
            readonly name?: string | null;
            readonly path: string;
            /**
             * @default refuse
             * @enum {string}
             */
            readonly secrets?: "refuse" | "allow";
        };
        /** @description Files, folders first. */
        readonly DriveFileList: {
            readonly files: readonly components["schemas"]["DriveFileView"][];
            readonly next: string | null;
        };
        /**
         * @description A file or folder, named by others. `forms` are those in which a document of Google's own is
         *     exported, the usual one first. `size` is in bytes, null where it is not known.
         */
        readonly DriveFileView: {
            readonly folder: boolean;
            readonly forms: readonly string[];
            readonly id: string;
            readonly importable: boolean;
            readonly media_type: string;
            readonly modified_at: string | null;
            readonly name: string;
            readonly size: number | null;
        };
        /**
         * @description A file of the caller's drive, by its id. `path` is its place in the workspace; with a `/` at
         *     its end, or left out, it is the directory, and the file keeps its name. `form` is the ending of
         *     the form in which a document is exported, such as `md` or `pdf`.
         */
        readonly DriveImportBody: {
            readonly file: string;
            readonly form?: string | null;
            /** @default  */
            readonly path?: string;
            /** @default false */
            readonly replace?: boolean;
        };
        /**
         * @description The caller's drive. `available` is false where no administrator has set Google Drive up;
         *     `account` and `connected_at` are null while nothing is connected.
         */
        readonly DriveView: {
            readonly account: string | null;
            readonly available: boolean;
            readonly connected_at: string | null;
        };
        /**
         * @description An allowed destination. `host` is canonical, or `*.name` for exactly one more label.
         *     `methods` and `paths` (prefixes of whole segments) bind plain HTTP; empty allows all. `origin`
         *     names who wrote the rule: `profile`, `preset:pypi`, `owner`.
         */
        readonly EgressRule: {
            readonly host: string;
            readonly methods: readonly string[];
            readonly origin: string;
            readonly paths: readonly string[];
            readonly ports: readonly number[];
        };
        /** @description The end of a process: `{"code":0}` or `{"signal":"KILL"}`. */
        readonly End: {
            readonly code?: number | null;
            readonly signal?: string | null;
        };
        /** @description The sandboxes that ended with it now. */
        readonly EndedView: {
            readonly sandboxes: readonly components["schemas"]["SandboxView"][];
        };
        /** @description Result of a test: the event that was posted, and why the endpoint did not accept it. */
        readonly EndpointTestView: {
            readonly accepted: boolean;
            readonly event_id: string;
            readonly reason: string | null;
        };
        /**
         * @description The caller after a login.
         *
         *     The page sends `page_key` as the header `Atoll-Page-Key` beside its cookie, and as the
         *     subprotocol `atoll.key.KEY` of WebSockets. No other response contains it. `next` is the route
         *     of the page that a login at a provider was begun for, else empty.
         */
        readonly EnteredView: {
            readonly guest: components["schemas"]["GuestAccessView"] | null;
            readonly id: string;
            readonly interactive: boolean;
            readonly kind: components["schemas"]["ActorKind"];
            readonly name: string;
            readonly next: string;
            readonly org_id: string;
            readonly page_key: string;
            readonly roles: readonly string[];
        };
        /** @description A page of a directory, by name; `next` is the cursor of the next one. */
        readonly EntryPage: {
            readonly entries: readonly components["schemas"]["FileEntry"][];
            readonly next: string | null;
        };
        /**
         * @description Why a request has no result.
         * @enum {string}
         */
        readonly ErrorCode: "forbidden" | "invalid_request" | "unsupported_method" | "conflict" | "worker_unavailable" | "timeout" | "internal_error" | "outcome_unknown";
        /** @description The reason why a request has no result. `data` is the agent's own error, as JSON text. */
        readonly ErrorItem: {
            readonly code: components["schemas"]["ErrorCode"];
            readonly data?: string | null;
            readonly message: string;
            readonly request_id: string;
            readonly retryable?: boolean | null;
        };
        /** @description The sandboxes that the host had. Those that move do so from now on. */
        readonly EvacuationView: {
            readonly moving: readonly components["schemas"]["MovingView"][];
            readonly staying: readonly components["schemas"]["StayingView"][];
        };
        /**
         * @description A page, oldest first; `next` is the following `after`. `gap` is the requested part that is no
         *     longer kept, null when nothing is missing. Where its `to` is less than its `after`, the log was
         *     set back and ends at `to`.
         */
        readonly EventPage: {
            readonly events: readonly components["schemas"]["EventView"][];
            readonly gap: components["schemas"]["Gap"] | null;
            readonly next: number;
        };
        /** @description An event in its envelope. */
        readonly EventView: {
            readonly actor: components["schemas"]["ActorView"];
            readonly at: string;
            readonly event_type: string;
            readonly event_version: number;
            readonly id: string;
            readonly org_id: string;
            readonly payload: {
                readonly [key: string]: unknown;
            };
            readonly position: number;
            readonly reason: string | null;
            readonly seq: number;
            readonly stream: string;
        };
        /**
         * @description A command: `argv`, or `shell` for a line.
         *
         *     `timeout` in seconds, `stdin` in base64. With `reap` all it started is killed as it ends;
         *     otherwise processes that it left running live on.
         */
        readonly ExecBody: {
            readonly argv?: readonly string[] | null;
            /** @default false */
            readonly background?: boolean;
            readonly cwd?: string | null;
            readonly env?: {
                readonly [key: string]: string;
            } | null;
            readonly max_output_bytes?: number | null;
            /** @default false */
            readonly reap?: boolean;
            readonly shell?: string | null;
            readonly stdin?: string | null;
            readonly timeout?: number | null;
        } & ({
            readonly argv: readonly unknown[];
        } | {
            readonly shell: string;
        });
        /** @description The sandbox's commands. */
        readonly ExecList: {
            readonly execs: readonly components["schemas"]["ExecView"][];
        };
        /** @description A command without its output. */
        readonly ExecView: {
            readonly argv: readonly string[];
            readonly cwd: string;
            readonly ended_at: string | null;
            readonly exec_id: string;
            readonly exit_code: number | null;
            readonly signal: string | null;
            readonly started_at: string;
            /** @enum {string} */
            readonly state: "running" | "exited";
            readonly stderr_bytes: number;
            readonly stdout_bytes: number;
            readonly timed_out: boolean;
            readonly truncated: boolean;
        };
        /** @description A command with the kept part of its output, base64. */
        readonly ExecWithOutput: {
            readonly argv: readonly string[];
            readonly cwd: string;
            readonly ended_at: string | null;
            readonly exec_id: string;
            readonly exit_code: number | null;
            readonly signal: string | null;
            readonly started_at: string;
            /** @enum {string} */
            readonly state: "running" | "exited";
            readonly stderr: string;
            readonly stderr_bytes: number;
            readonly stdout: string;
            readonly stdout_bytes: number;
            readonly timed_out: boolean;
            readonly truncated: boolean;
        };
        /**
         * @description The kind of machine: a person's own, while it is linked, or one of a backend's.
         * @enum {string}
         */
        readonly ExecutionMode: "desktop" | "sandbox";
        /**
         * @description The parts of a request for a sandbox that decide where it goes, as `POST /v1/sandboxes` has
         *     them.
         */
        readonly ExplainBody: {
            readonly host?: string | null;
            /** @default {} */
            readonly inputs?: components["schemas"]["InputsBody"];
            /** @default [] */
            readonly mounts?: readonly components["schemas"]["MountBody"][];
            readonly network_mode?: components["schemas"]["NetworkMode"] | null;
            /** @default shell */
            readonly profile?: string;
            readonly profile_version?: string | null;
            /**
             * @default {
             *       "accept_open_network": false
             *     }
             */
            readonly route?: components["schemas"]["RouteOptionsBody"];
        };
        /** @description The time to add. */
        readonly ExtendBody: {
            /**
             * @description Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.
             * @example 4h
             */
            readonly ttl: number | string;
        };
        /** @description Every backend, by name. */
        readonly ExtensionList: {
            readonly extensions: readonly components["schemas"]["ExtensionView"][];
        };
        /**
         * @description A backend; `reason` tells why it is not available, and `trouble` what is wrong with one that
         *     is.
         */
        readonly ExtensionView: {
            readonly available: boolean;
            readonly capabilities: components["schemas"]["CapabilitiesView"] | null;
            readonly name: string;
            readonly reason: string | null;
            readonly trouble: string | null;
        };
        /** @description The remote: `owner/repo`, or an https or ssh address. */
        readonly FetchBody: {
            readonly repo_url: string;
        };
        /** @description The diff of one file; `truncated` when lines are missing. */
        readonly FileDiff: {
            readonly binary: boolean;
            readonly hunks: readonly components["schemas"]["Hunk"][];
            readonly new_mode: string | null;
            readonly old_mode: string | null;
            readonly old_path: string | null;
            readonly path: string;
            readonly truncated: boolean;
        };
        /**
         * @description A directory entry. `size` in bytes, `mode` in octal digits, `mtime` RFC 3339; `target` of
         *     a link. A name that is not UTF-8 is shown with U+FFFD and given exactly in `name_b64`.
         */
        readonly FileEntry: {
            readonly mode: string;
            readonly mtime: string;
            readonly name: string;
            readonly name_b64?: string | null;
            readonly path: string;
            readonly size: number;
            readonly target?: string | null;
            /** @enum {string} */
            readonly type: "file" | "dir" | "symlink" | "other";
        };
        /**
         * @description The size of a tree. `bytes` are what its files claim, `stored` what they take on the disk:
         *     sparse files claim more.
         */
        readonly FileTotal: {
            readonly bytes: number;
            readonly files: number;
            readonly stored: number;
        };
        /** @description All findings, most important first, and when they were made. */
        readonly FindingList: {
            readonly at: string;
            readonly findings: readonly components["schemas"]["FindingView"][];
        };
        /**
         * @description The result of one check of the server's machine: `warn` is a limit that sandboxes lack,
         *     `fail` means that none is safe. `fix` says what to do, empty when nothing is needed.
         */
        readonly FindingView: {
            readonly fix: string;
            /** @enum {string} */
            readonly level: "ok" | "warn" | "fail";
            readonly name: string;
            readonly text: string;
        };
        /** @description A comment, as others wrote it; `path` and `line` for one on a line of the diff. */
        readonly ForgeCommentView: {
            readonly at: string;
            readonly author: string;
            readonly id: string;
            readonly line: number | null;
            readonly path: string | null;
            readonly text: string;
        };
        /**
         * @description The programs that forges run, whose APIs are known here.
         * @enum {string}
         */
        readonly ForgeKind: "github" | "gitea";
        /** @description Names of branches, or https addresses of repositories. */
        readonly ForgeNames: {
            readonly names: readonly string[];
        };
        /**
         * @description Copies to make of a sandbox as it is now. With several, `name` and `branch` get a number
         *     each. `prompt` are words for the agent of each copy.
         */
        readonly ForkBody: {
            readonly branch?: string | null;
            /** @default continue */
            readonly conversation?: components["schemas"]["Conversation"];
            /** @default 1 */
            readonly count?: number;
            readonly name?: string | null;
            readonly prompt?: string | null;
            readonly ttl?: (number | string) | null;
        };
        /** @description The copies, which are starting. */
        readonly ForkView: {
            readonly sandboxes: readonly components["schemas"]["SandboxView"][];
        };
        /**
         * @description The items as they were. A text with attributes is `text`, and `delta` with them: runs of
         *     `insert` and `attributes`.
         */
        readonly FormerItems: {
            readonly items: readonly {
                readonly [key: string]: unknown;
            }[];
        };
        /**
         * @description A gap in what a reader received: of the events after position `after` and up to `to`, some
         *     are no longer kept. The kept ones still come.
         *
         *     Where `to` is less than `after`, the log was set back: it ends at `to` and has not what the
         *     reader received. What comes next follows `to`.
         */
        readonly Gap: {
            readonly after: number;
            readonly to: number;
        };
        /**
         * @description The scope of a grant: one request, this sandbox, or every sandbox that has the secret.
         * @enum {string}
         */
        readonly GrantScope: "once" | "sandbox" | "organization";
        /**
         * @description The role of a guest at the terminals (or one) of a sandbox, until it ends; with
         *     `recording_id` at that recording alone. With `dashboard_id` it is a look at that dashboard, and
         *     with `terminals` at the terminals on it; the sandbox's members are null then. `inviter` is the
         *     name of whoever made the link, or empty.
         */
        readonly GuestAccessView: {
            readonly dashboard_id: string | null;
            readonly dashboard_name: string | null;
            readonly expires_at: string;
            readonly inviter: string;
            readonly recording_id: string | null;
            readonly role: string;
            readonly sandbox_id: string | null;
            readonly sandbox_name: string | null;
            readonly sandbox_state: string | null;
            readonly share_id: string;
            readonly terminal_id: string | null;
            readonly terminals: boolean;
        };
        /** @description The secret of a link, and the name that its visitor chose. */
        readonly GuestBody: {
            readonly name?: string | null;
            readonly ticket: string;
        };
        /** @description Commits the uploader has. */
        readonly HaveBody: {
            readonly tips: readonly string[];
        };
        /** @description The commits among them that the server already has. */
        readonly HaveView: {
            readonly have: readonly string[];
        };
        /**
         * @description The health of the server. `degraded` says what does not work meanwhile, and is left out when
         *     everything does.
         */
        readonly HealthView: {
            /** @default [] */
            readonly degraded?: readonly string[];
            /** @constant */
            readonly status: "ok";
        };
        /** @description A heartbeat, numbered like every item. */
        readonly HeartbeatItem: {
            readonly heartbeat_age_ms?: number | null;
            readonly heartbeat_state?: components["schemas"]["HeartbeatState"] | null;
        };
        /**
         * @description The state of a heartbeat, by its age; `missing` is lost.
         * @enum {string}
         */
        readonly HeartbeatState: "fresh" | "stale" | "missing" | "stopped" | "failed";
        /** @description A quota beside what is held; `member` is null for the organization's. */
        readonly HeldQuotaView: {
            readonly member: string | null;
            readonly quota: components["schemas"]["QuantitiesView"];
            readonly used: components["schemas"]["QuantitiesView"];
        };
        /** @description Changes of one person (`actor` is an id) within a minute, up to update `seq`. */
        readonly HistoryEntryView: {
            readonly actor: string;
            readonly at: string;
            readonly seq: number;
            readonly summary: components["schemas"]["HistorySummary"];
        };
        /** @description A page, newest first; `next` is the following `before`, null on the last. */
        readonly HistoryPage: {
            readonly entries: readonly components["schemas"]["HistoryEntryView"][];
            readonly next: number | null;
        };
        /** @description The counts of items by their kind. */
        readonly HistorySummary: {
            readonly added: {
                readonly [key: string]: number;
            };
            readonly changed: {
                readonly [key: string]: number;
            };
            readonly removed: {
                readonly [key: string]: number;
            };
        };
        /**
         * @description The kind of a thing that is found. Each is shown to whoever may read such things.
         * @enum {string}
         */
        readonly HitKind: "sandbox" | "task" | "branch" | "dashboard" | "secret" | "member" | "profile" | "event";
        /** @description The best hits first; `complete` says that there are no more. */
        readonly HitList: {
            readonly complete: boolean;
            readonly hits: readonly components["schemas"]["HitView"][];
        };
        /**
         * @description A found thing. `text` is what is around the words, where they are not in the name alone.
         *     `sandbox_id` is the sandbox it belongs to, null for what belongs to none.
         */
        readonly HitView: {
            readonly at: string | null;
            readonly id: string;
            readonly kind: components["schemas"]["HitKind"];
            readonly sandbox_id: string | null;
            readonly text: string;
            readonly title: string;
        };
        /** @description A hook for the reports of one system. */
        readonly HookBody: {
            readonly name: string;
            readonly source: components["schemas"]["HookSource"];
        };
        /** @description The caller's hooks. */
        readonly HookList: {
            readonly hooks: readonly components["schemas"]["HookView"][];
        };
        /**
         * @description The system that reports.
         * @enum {string}
         */
        readonly HookSource: "gitea" | "github" | "flux";
        /** @description A hook. `address` is the path at which its reports arrive. */
        readonly HookView: {
            readonly address: string;
            readonly created_at: string;
            readonly hook_id: string;
            readonly name: string;
            readonly source: components["schemas"]["HookSource"];
        };
        /**
         * @description Items of a host, numbered from `first` in this epoch. Without items it is a heartbeat.
         *     `deltas` are shown to who follows now, and kept by nobody.
         */
        readonly HostBatchBody: {
            /** @default [] */
            readonly deltas?: readonly components["schemas"]["DeltasBody"][];
            readonly epoch: number;
            readonly first: number;
            /** @default [] */
            readonly items?: readonly components["schemas"]["HostItem"][];
        };
        /**
         * @description A host that SSH reaches, as `ssh://user@host[:port]`. With `host_key` that key is pinned;
         *     with `fingerprint` the machine must show a key that has it; else the key it shows is pinned.
         */
        readonly HostBody: {
            readonly address: string;
            readonly capacity?: components["schemas"]["CapacityBody"] | null;
            readonly cost_per_hour?: components["schemas"]["CostBody"] | null;
            readonly fingerprint?: string | null;
            readonly host_key?: string | null;
            readonly labels?: {
                readonly [key: string]: string;
            } | null;
            readonly name?: string | null;
            readonly organization?: string | null;
            readonly overcommit?: number | null;
            readonly profile?: string | null;
            readonly region?: string | null;
        };
        /**
         * @description A change of what is said of a host; what is left out stays. `organization` and `profile`
         *     dedicate it to them, and an empty text ends that.
         */
        readonly HostChangeBody: {
            readonly capacity?: components["schemas"]["CapacityBody"] | null;
            readonly cost_per_hour?: components["schemas"]["CostBody"] | null;
            readonly labels?: {
                readonly [key: string]: string;
            } | null;
            readonly organization?: string | null;
            readonly overcommit?: number | null;
            readonly profile?: string | null;
            readonly region?: string | null;
        };
        /**
         * @description Result of a look at a host. `key_unchanged` is null where no key is compared; `problems`
         *     prevent sandboxes there, `lacks` are what they do without.
         */
        readonly HostCheckView: {
            readonly key_unchanged: boolean | null;
            readonly lacks: readonly string[];
            readonly problems: readonly string[];
            readonly reachable: boolean;
            readonly wall: boolean;
        };
        /** @description A price of an hour, in millionths of a currency. */
        readonly HostCostView: {
            readonly currency: string;
            readonly micros: number;
        };
        /** @description An item of a batch: exactly one of these. */
        readonly HostItem: {
            readonly error?: components["schemas"]["ErrorItem"] | null;
            readonly event?: components["schemas"]["AgentEventItem"] | null;
            readonly heartbeat?: components["schemas"]["HeartbeatItem"] | null;
            readonly response?: components["schemas"]["ResponseItem"] | null;
        };
        /**
         * @description The way to a host. A `desktop` is a person's own machine, while it is linked.
         * @enum {string}
         */
        readonly HostKind: "local" | "ssh" | "desktop";
        /** @description Every host, by name. */
        readonly HostList: {
            readonly hosts: readonly components["schemas"]["HostView"][];
        };
        /** @description The room of a host, or the room that is taken; null is not limited. */
        readonly HostRoomView: {
            readonly cpu: number | null;
            readonly memory_mb: number | null;
            readonly sandboxes: number | null;
        };
        /**
         * @description The state of a host. A draining one takes no new sandbox; those on it go on.
         * @enum {string}
         */
        readonly HostState: "active" | "draining";
        /** @description The fingerprint of the key that is pinned for a host, and of the keys that it shows now. */
        readonly HostTrustView: {
            readonly name: string;
            readonly pinned: string;
            readonly shown: readonly string[];
        };
        /**
         * @description A host. `used` is the room that running sandboxes take, `kept` the number of those that take
         *     none. `overcommit` multiplies the cores and the memory of `capacity`.
         */
        readonly HostView: {
            readonly address: string;
            readonly capacity: components["schemas"]["HostRoomView"];
            readonly cost_per_hour: components["schemas"]["HostCostView"] | null;
            readonly fingerprint: string | null;
            readonly host_id: string;
            readonly kept: number;
            readonly kind: components["schemas"]["HostKind"];
            readonly labels: {
                readonly [key: string]: string;
            };
            readonly name: string;
            readonly organization: string | null;
            readonly overcommit: number;
            readonly profile: string | null;
            readonly region: string;
            readonly state: components["schemas"]["HostState"];
            readonly used: components["schemas"]["HostRoomView"];
        };
        /** @description Consecutive lines; each begins with a space, `+`, `-` or a backslash, as in the diff. */
        readonly Hunk: {
            readonly heading: string;
            readonly lines: readonly string[];
            readonly new_lines: number;
            readonly new_start: number;
            readonly old_lines: number;
            readonly old_start: number;
        };
        /** @description The numbers of a hunk's first line, and the context of the diff it was seen in. */
        readonly HunkBody: {
            /** @default 3 */
            readonly context?: number;
            readonly new_lines: number;
            readonly new_start: number;
            readonly old_lines: number;
            readonly old_start: number;
        };
        /**
         * @description The end that idleness brings: `reap` expires a sandbox; `stop` ends its processes; `sleep`
         *     does that too, keeps its terminals' screens, and lets an access wake it.
         * @enum {string}
         */
        readonly IdleAction: "reap" | "stop" | "sleep";
        /**
         * @description An answer: the id of an option, or `text`, an answer in words.
         *
         *     `shown` is that of the item that the person saw; `words` are those of a confirmation, which an
         *     approval needs from a terminal.
         */
        readonly InboxAnswerBody: {
            readonly option?: string | null;
            readonly shown: string;
            readonly text?: string | null;
            readonly words?: string | null;
        };
        /**
         * @description Something that waits for a person since `since`.
         *
         *     `lines` say what an answer allows; `shown` stands for them. `by`: a person decides it
         *     (`person`), or the agent takes the answer by its protocol, or at its terminal only. `agent` and
         *     `agent_id` are null where it is not known who asks. A `mention` and a `todo` are on a dashboard:
         *     `place` says where, `author` whose they are, and `sandbox_id` is null. They take no answer, and
         *     are dismissed. So is a `login` that broke: its person logs `agent` in again.
         */
        readonly InboxItemView: {
            readonly agent: string | null;
            readonly agent_id: string | null;
            readonly author: string | null;
            readonly by: components["schemas"]["AnswerBy"];
            readonly id: string;
            readonly kind: components["schemas"]["ItemKind"];
            readonly lines: readonly string[];
            readonly options: readonly components["schemas"]["StatusOptionView"][];
            readonly place: components["schemas"]["BoardPlaceView"] | null;
            readonly sandbox_id: string | null;
            readonly sandbox_name: string | null;
            readonly shown: string;
            readonly since: string;
            readonly times: number;
            readonly words: boolean;
        };
        /** @description The inbox, the longest waiting item first. */
        readonly InboxView: {
            readonly items: readonly components["schemas"]["InboxItemView"][];
            readonly next: string | null;
        };
        /** @description The number that a host's next item has, and how many items were new. */
        readonly IngestView: {
            readonly expected: number;
            readonly taken: number;
        };
        /**
         * @description The references of the consumer: `repo_ref` is the sandbox's repository where `repos` names
         *     none, with the branch or tag that its own begins at, `compose_bundle_ref` the compose file of a
         *     backend that runs one, or its folder, as `repo:PATH`, and `compose_bundle` the text of such a
         *     file, where it was uploaded.
         */
        readonly Inputs: {
            readonly compose_bundle: string | null;
            readonly compose_bundle_ref: string | null;
            readonly repo_ref: string | null;
        };
        /**
         * @description The references of the consumer: `repo_ref` is the repository where `repos` names none, as
         *     `owner/repo@REF`, an address with `@REF` behind it, or `upload:KEY@REF`; `@REF` names the branch
         *     or tag where a new branch begins. `compose_bundle_ref` is a compose file or its folder, as
         *     `repo:PATH`, `compose_bundle` such a file itself. What does not resolve is refused.
         */
        readonly InputsBody: {
            readonly compose_bundle?: string | null;
            readonly compose_bundle_ref?: string | null;
            readonly repo_ref?: string | null;
        };
        /** @description An install. `expected` is 0 when nobody knows; `failed` says why it ended. */
        readonly InstallView: {
            readonly bytes: number;
            readonly expected: number;
            readonly failed: string | null;
        };
        /** @description The secret of a link. */
        readonly InvitationBody: {
            readonly ticket: string;
        };
        /**
         * @description Offer of a link: by whom, to which sandbox, to one terminal of it or to all, and to watch
         *     (`viewer`) or to ask to type, too (`controller`); or to one recording; or to look at the
         *     dashboard `dashboard_name`. `inviter` is empty for who chose no name.
         */
        readonly InvitationView: {
            readonly dashboard_name: string | null;
            readonly expires_at: string;
            readonly inviter: string;
            readonly recording_id: string | null;
            readonly role: components["schemas"]["Role"];
            readonly sandbox_name: string | null;
            readonly terminal_id: string | null;
        };
        /** @description An invitation to make. `email` is a note of whom it is for; nothing is sent there. */
        readonly InviteBody: {
            /** @default  */
            readonly email?: string;
            /** @default [] */
            readonly groups?: readonly string[];
            /** @default member */
            readonly role?: components["schemas"]["OrgRole"];
            /**
             * @description Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.
             * @default 604800
             * @example 4h
             */
            readonly ttl?: number | string;
        };
        /**
         * @description The strength of the wall, weakest first.
         * @enum {string}
         */
        readonly IsolationLevel: "none" | "policy" | "container" | "microvm";
        /** @description The isolation that the wall truly gives. */
        readonly IsolationView: {
            readonly degraded: readonly string[];
            readonly host_uid: number | null;
            readonly init: string;
            readonly level: components["schemas"]["IsolationLevel"];
            readonly mechanism: string;
            readonly weak: boolean;
        };
        /**
         * @description The kind of what a task begins with.
         * @enum {string}
         */
        readonly IssueKind: "issue" | "pull";
        /**
         * @description An issue or a pull request, and the task that it is: `prompt` are the words for an agent,
         *     `branch` is a new one, or the pull request's own. Title and prompt were written by others; `url`
         *     is sent as `task.issue`.
         */
        readonly IssueView: {
            readonly branch: string;
            readonly kind: components["schemas"]["IssueKind"];
            readonly number: number;
            readonly prompt: string;
            readonly repo_url: string;
            readonly state: components["schemas"]["PullState"];
            readonly title: string;
            readonly url: string;
        };
        /** @description A signed token (RFC 6749 §5.1). `expires_in` is in seconds. */
        readonly IssuedView: {
            readonly access_token: string;
            readonly audience: string;
            readonly capabilities: readonly string[];
            readonly expires_in: number;
            readonly token_type: string;
        };
        /**
         * @description The kind of an item: an approval of a secret, a command, a host or a call of a tool, an
         *     agent's request, a held push, a sandbox's end, a task whose set-up failed, a rebase or merge
         *     that stopped at a conflict, a mention or a todo on a dashboard, or an agent's login that
         *     broke.
         * @enum {string}
         */
        readonly ItemKind: "secret" | "command" | "host" | "tool" | "agent" | "push" | "end" | "setup" | "conflict" | "mention" | "todo" | "login";
        /** @description The caller's kept worktrees, newest first. */
        readonly KeptList: {
            readonly kept: readonly components["schemas"]["KeptView"][];
            readonly next: string | null;
        };
        /**
         * @description A worktree that outlived its sandbox. `path` is its directory on the server; `bundles` are
         *     the numbers of the repositories whose new commits are there. `generation` is set for work that a
         *     recreate saved; without `tree` there is no archive. `pushed` is the branch of a held push, whose
         *     sandbox may still be there.
         */
        readonly KeptView: {
            readonly bundles: readonly number[];
            readonly bytes: number;
            readonly generation: number | null;
            readonly kept_at: string;
            readonly kept_id: string;
            readonly kept_until: string;
            readonly path: string;
            readonly pushed: string | null;
            readonly sandbox_id: string;
            readonly sandbox_name: string;
            readonly tree: boolean;
        };
        /** @description The public keys of this installation (RFC 7517). */
        readonly KeySet: {
            readonly keys: readonly {
                readonly [key: string]: string;
            }[];
        };
        /** @description A safety layer. `bypassable`: a program inside can bypass it on purpose. */
        readonly Layer: {
            readonly bypassable: boolean;
            readonly in_force: boolean;
            readonly name: string;
            readonly number: number;
            readonly text: string;
        };
        /**
         * @description Processes left running; `more` when there are more than are listed. `runtime` has the
         *     resources of the sandbox's own runtime, outside the wall; null where nobody counts them.
         */
        readonly LeftList: {
            readonly more: boolean;
            readonly processes: readonly components["schemas"]["LeftView"][];
            readonly runtime: components["schemas"]["OwnUsage"] | null;
        };
        /** @description A process: its pid inside, and the start of its command line, which it chose itself. */
        readonly LeftView: {
            readonly command: string;
            readonly pid: number;
        };
        /**
         * @description An endpoint for the events of the sandbox's life, and the custom secret, by name or id, whose
         *     value signs them (`whsec_…`, Standard Webhooks).
         */
        readonly LifecycleWebhookBody: {
            readonly secret_ref: string;
            readonly url: string;
        };
        /**
         * @description State of the webhook that a create named: its last delivery succeeded or none was made yet,
         *     it failed and is tried again, it is disabled, or it ended after the sandbox's last event.
         * @enum {string}
         */
        readonly LifecycleWebhookState: "delivering" | "failing" | "disabled" | "ended";
        /**
         * @description The webhook that the create named: its id among webhooks, the host of its endpoint, and what
         *     became of it. `reason` says why it is failing or disabled, or why its last event was given
         *     up.
         */
        readonly LifecycleWebhookView: {
            readonly delivered_at: string | null;
            readonly failed_at: string | null;
            readonly host: string;
            readonly reason: string | null;
            readonly state: components["schemas"]["LifecycleWebhookState"];
            readonly webhook_id: string;
        };
        /** @description The most that one sandbox may have; null is no limit. */
        readonly LimitsView: {
            readonly cpu: number | null;
            readonly memory_mb: number | null;
            readonly workspace_mb: number | null;
        };
        /** @description A link to make: where it leads at its origin, and how long it may wait for its one use. */
        readonly LinkBody: {
            /** @default / */
            readonly path?: string;
            /**
             * @description Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.
             * @default 600
             * @example 4h
             */
            readonly ttl?: number | string;
        };
        /**
         * @description A link just made, which is good for one use and stored nowhere. `origin` is the origin that
         *     it opens. `local_only`: no other machine can open it.
         */
        readonly LinkView: {
            readonly expires_at: string;
            readonly local_only: boolean;
            readonly origin: string;
            readonly port: number;
            readonly url: string;
        };
        /** @description A step of provisioning. */
        readonly LogLineView: {
            readonly at: string;
            readonly text: string;
        };
        /** @description The log of provisioning. */
        readonly LogView: {
            readonly lines: readonly components["schemas"]["LogLineView"][];
        };
        /**
         * @description The sandboxes and profiles without doors that get the access token of a login itself:
         *     `sandbox:<sandbox id>` or `profile:profile.<name>`. An empty list takes it back.
         */
        readonly LoginExposureBody: {
            readonly exposed_to: readonly string[];
        };
        /**
         * @description The state of a login. Of the first three each can change; the others are final.
         * @enum {string}
         */
        readonly LoginState: "requested" | "pending" | "ready" | "denied" | "expired" | "failed" | "revoked";
        /** @description The use of a login by sandboxes of its agent: its owner says that their plan allows it. */
        readonly LoginUseBody: {
            readonly in_use: boolean;
        };
        /** @description The address at the provider that ends the login there, for the browser to open. */
        readonly LogoutView: {
            readonly end_session_url: string;
        };
        /** @description A hook with its new secret, which no other answer has. */
        readonly MadeHookView: {
            readonly address: string;
            readonly created_at: string;
            readonly hook_id: string;
            readonly name: string;
            readonly secret: string;
            readonly source: components["schemas"]["HookSource"];
        };
        /**
         * @description An invitation just made: `secret`, and the link `url` with it, are returned only once.
         *     `local_only` when no other machine can open the link.
         */
        readonly MadeOrgInvitationView: {
            readonly created_at: string;
            readonly email: string;
            readonly expires_at: string;
            readonly groups: readonly string[];
            readonly invitation_id: string;
            readonly invited_by: string;
            readonly local_only: boolean;
            readonly role: components["schemas"]["OrgRole"];
            readonly secret: string;
            readonly url: string;
        };
        /** @description A token just made: `token` is returned only once, and stored nowhere. */
        readonly MadePatView: {
            readonly capabilities: readonly string[];
            readonly created_at: string;
            readonly expires_at: string;
            readonly id: string;
            readonly name: string;
            readonly parent: string | null;
            readonly sandbox_id: string | null;
            readonly token: string;
            readonly used_at: string | null;
        };
        /**
         * @description A link just made: `link` is returned only once, and stored nowhere. `local_only`: no other
         *     machine can open it.
         */
        readonly MadeView: {
            readonly created_at: string;
            readonly expires_at: string;
            readonly guest_names: readonly string[];
            readonly guests: number;
            readonly link: string;
            readonly local_only: boolean;
            readonly name: string;
            readonly recording_id: string | null;
            readonly role: components["schemas"]["Role"];
            readonly sandbox_id: string;
            readonly share_id: string;
            readonly terminal_id: string | null;
        };
        /** @description A webhook with its new secret, which is returned only once. */
        readonly MadeWebhookView: {
            readonly created_at: string;
            readonly cursor: number;
            readonly dead: number;
            readonly delivered_at: string | null;
            readonly enabled: boolean;
            readonly event_types: readonly string[];
            readonly failed_at: string | null;
            readonly failing_since: string | null;
            readonly failure: string | null;
            readonly reason: string | null;
            readonly replaying: number;
            readonly retrying: number;
            readonly sandbox_id: string | null;
            readonly scope: components["schemas"]["WebhookScope"];
            readonly secret: string;
            readonly secret_version: number;
            readonly streams: readonly string[];
            readonly url: string;
            readonly webhook_id: string;
        };
        /**
         * @description A command.
         *
         *     `n` counts them from 1, `seq` is the place of this revision among all changes. `prompt…output`
         *     are the offsets of its prompt and line, `output…end` of its output. `exit_code` and `seconds`
         *     are None while it runs, or when not reported. `genuine`: the terminal's own shell reported it.
         */
        readonly Mark: {
            readonly command: string;
            readonly cwd: string;
            readonly end: number | null;
            readonly exit_code: number | null;
            readonly genuine: boolean;
            readonly n: number;
            readonly output: number;
            readonly prompt: number;
            readonly seconds: number | null;
            readonly seq: number;
            readonly started_at: string;
            /** @enum {string} */
            readonly state: "running" | "done";
            /** @constant */
            readonly type: "mark";
        };
        /** @description The marks changed after `since`; the next `since` is `seq`. */
        readonly MarkPage: {
            readonly dropped: number;
            readonly marks: readonly components["schemas"]["Mark"][];
            readonly seq: number;
        };
        /**
         * @description A matching line. `line` counts from 1 where the search began; `offset` lies in a
         *     terminal's output, `seconds` in a recording. `at…to` is the match in `text`; `command` ran
         *     there, when its shell reported it.
         */
        readonly Match: {
            readonly at: number;
            readonly command: string | null;
            readonly line: number;
            readonly name: string;
            readonly offset: number | null;
            readonly recording_id: string | null;
            readonly seconds: number | null;
            readonly terminal_id: string;
            readonly text: string;
            readonly to: number;
        };
        /** @description The matches; not `complete` when there were more than fit, or too much to search. */
        readonly Matches: {
            readonly complete: boolean;
            readonly matches: readonly components["schemas"]["Match"][];
        };
        /** @description A change of the caller: the name that others see. */
        readonly MeBody: {
            readonly name: string;
        };
        /**
         * @description The caller. `interactive`: a person in a browser, who may approve. `guest` describes a caller
         *     who came by a share link. `roles` are the claims of that name: first the role in `org_id`, which
         *     is `nobody` for a person who is a member of nothing yet.
         */
        readonly MeView: {
            readonly guest: components["schemas"]["GuestAccessView"] | null;
            readonly id: string;
            readonly interactive: boolean;
            readonly kind: components["schemas"]["ActorKind"];
            readonly name: string;
            readonly org_id: string;
            readonly roles: readonly string[];
        };
        /** @description A change of a member; what is left out stays. */
        readonly MemberBody: {
            readonly groups?: readonly string[] | null;
            readonly role?: components["schemas"]["OrgRole"] | null;
        };
        /** @description The members of an organization. */
        readonly MemberList: {
            readonly members: readonly components["schemas"]["MemberView"][];
            readonly next: string | null;
        };
        /**
         * @description A member: a person (`adm`) or a service account (`atm`). With `groups_claimed` the groups
         *     come from the login provider, and cannot be changed here.
         */
        readonly MemberView: {
            readonly email: string;
            readonly groups: readonly string[];
            readonly groups_claimed: boolean;
            readonly kind: components["schemas"]["ActorKind"];
            readonly member_id: string;
            readonly name: string;
            readonly role: components["schemas"]["OrgRole"];
            readonly since: string;
        };
        /**
         * @description The wish to keep what runs, too: where the backend can, in any case, or not.
         * @enum {string}
         */
        readonly MemoryMode: "auto" | "required" | "no";
        /**
         * @description The branch to merge `into` (by default the one the sandbox's branch began from), and how.
         *
         *     `title` is the first line of the commit. With `commit`, uncommitted changes are committed first.
         *     With `agent`, the sandbox's agent is prompted to resolve a conflict. While an agent works, only
         *     `now` merges. With `push`, the result is pushed to the repository's remote.
         */
        readonly MergeBody: {
            /** @default false */
            readonly agent?: boolean;
            /** @default false */
            readonly commit?: boolean;
            readonly into?: string | null;
            /** @default false */
            readonly now?: boolean;
            /** @default false */
            readonly push?: boolean;
            /** @default 0 */
            readonly repo?: number;
            readonly title?: string | null;
            /** @default squash */
            readonly way?: components["schemas"]["MergeWay"];
        };
        /**
         * @description Outcomes of a merge. After `conflict` a rebase waits inside, and nothing was merged.
         * @enum {string}
         */
        readonly MergeOutcome: "merged" | "conflict";
        /**
         * @description The end of a merge. Inside, `into` is at `commit`, with `commits` of the sandbox; `previous`
         *     is the ref of what `into` was inside, where that is no part of it. At a conflict nothing was
         *     merged: `files` are in conflict, `more` counts those left out, and `agent` was prompted.
         *     `pushed` is null where no push was requested; `detail` says why it was not pushed.
         */
        readonly MergeResultView: {
            readonly agent: string | null;
            readonly commit: string;
            readonly commits: number;
            readonly detail: string;
            readonly files: readonly string[];
            readonly into: string;
            readonly more: number;
            readonly outcome: components["schemas"]["MergeOutcome"];
            readonly previous: string | null;
            readonly pushed: boolean | null;
            readonly way: components["schemas"]["MergeWay"];
        };
        /** @description A merge of repository number `repo` into a branch, whose newest commit it made `commit`. */
        readonly MergeView: {
            readonly at: string;
            readonly commit: string;
            readonly into: string;
            readonly repo: number;
            readonly way: components["schemas"]["MergeWay"];
        };
        /**
         * @description Ways to bring a branch into another one: by a merge commit, as one commit, or commit by
         *     commit.
         * @enum {string}
         */
        readonly MergeWay: "merge" | "squash" | "rebase";
        /** @description The first repository and the network, in the terms of other tools. */
        readonly MetadataView: {
            readonly branch: string | null;
            readonly copies: readonly string[];
            readonly from_branch: string | null;
            readonly mounts: readonly string[];
            readonly network_mode: components["schemas"]["NetworkMode"];
            readonly repo_url: string | null;
            /** @constant */
            readonly ssh_mode: "gateway";
            readonly sync_ssh: number;
        };
        /** @description A directory to make, with its parents if requested. */
        readonly MkdirBody: {
            /** @default false */
            readonly parents?: boolean;
            readonly path: string;
        };
        /**
         * @description A directory of the host.
         *
         *     `grant` is the consent of the person at this machine, made by the command line. A directory that
         *     holds keys or logins is `private_folder` unless `private` agrees to it.
         */
        readonly MountBody: {
            /**
             * @default ro
             * @enum {string}
             */
            readonly access?: "ro" | "rw";
            readonly grant?: string | null;
            /** @default false */
            readonly private?: boolean;
            readonly source: string;
            readonly target: string;
        };
        /** @description A rename. */
        readonly MoveBody: {
            readonly from: string;
            /** @default false */
            readonly overwrite?: boolean;
            readonly to: string;
        };
        /** @description A sandbox whose files go to another host. */
        readonly MovingView: {
            readonly name: string;
            readonly sandbox_id: string;
            readonly to: string;
        };
        /** @description The caller's sessions, oldest first. */
        readonly MySessionList: {
            readonly sessions: readonly components["schemas"]["MySessionView"][];
        };
        /** @description A browser in which the caller is logged in. `current` is the one that asks. */
        readonly MySessionView: {
            readonly address: string;
            readonly agent: string;
            readonly created_at: string;
            readonly current: boolean;
            readonly expires_at: string;
            readonly id: string;
            readonly last_seen_at: string;
            readonly realm: string;
        };
        /**
         * @description The changes; what is left out stays.
         *
         *     `allow` and `deny` are added, `forget` removes what was allowed or denied before; ports and
         *     ranges are set whole.
         */
        readonly NetworkBody: {
            readonly allow?: readonly string[];
            readonly deny?: readonly string[];
            readonly forget?: readonly string[];
            readonly host_ports?: readonly number[] | null;
            readonly mode?: components["schemas"]["NetworkMode"] | null;
            readonly ranges?: readonly string[] | null;
        };
        /**
         * @description The most that networks of the organization's sandboxes may open; what is left out or null is
         *     not bounded by it. Ports are such as `5432` or `8000-8100`.
         */
        readonly NetworkBoundsBody: {
            readonly egress?: readonly string[] | null;
            readonly full?: boolean | null;
            readonly host_ports?: readonly string[] | null;
            readonly open_network?: boolean | null;
            readonly ports?: readonly string[] | null;
            readonly ranges?: readonly string[] | null;
        };
        /** @description The most that a network may open. `egress` are rules, `*` every public name. */
        readonly NetworkBoundsView: {
            readonly egress: readonly string[];
            readonly full: boolean;
            readonly host_ports: readonly string[];
            readonly open_network: boolean;
            readonly ports: readonly string[];
            readonly ranges: readonly string[];
        };
        /**
         * @description The policies of the egress door; never an interface.
         * @enum {string}
         */
        readonly NetworkMode: "none" | "limited" | "host-only" | "full";
        /**
         * @description The destinations that a sandbox may reach.
         *
         *     All of it is in force: what a bound of the installation or the organization takes away is
         *     `withheld`. `egress` is the profile's, `allowed` and `denied` the owner's; `rules` is their
         *     result, presets expanded. Denied hosts take precedence.
         */
        readonly NetworkView: {
            readonly allowed: readonly string[];
            readonly denied: readonly string[];
            readonly egress: readonly string[];
            readonly host_ports: readonly number[];
            readonly in_mb_per_hour: number | null;
            readonly mode: components["schemas"]["NetworkMode"];
            readonly out_mb_per_hour: number | null;
            readonly ports: readonly number[];
            readonly ranges: readonly string[];
            readonly rules: readonly components["schemas"]["EgressRule"][];
            readonly withheld: readonly components["schemas"]["WithheldView"][];
        };
        /** @description A new secret. */
        readonly NewSecretBody: {
            readonly base_url?: string | null;
            /** @default true */
            readonly broker_protected?: boolean;
            readonly env?: string | null;
            readonly extension?: string | null;
            readonly forge?: components["schemas"]["ForgeKind"] | null;
            /** @default [] */
            readonly headers?: readonly string[];
            /** @default [] */
            readonly hosts?: readonly string[];
            /** @default custom */
            readonly kind?: components["schemas"]["Purpose"];
            /** @default false */
            readonly look_alike?: boolean;
            readonly name: string;
            readonly provider?: string | null;
            /** @default [] */
            readonly push?: readonly string[];
            readonly remote?: string | null;
            /** @default person */
            readonly scope?: string;
            /**
             * @default bearer
             * @enum {string}
             */
            readonly slot?: "bearer" | "header" | "query" | "basic";
            /** @default  */
            readonly slot_name?: string;
            readonly value: string;
        };
        /**
         * @description The terms of an invitation. `organization` and `invited_by` are names to read; who
         *     invited and has left has none.
         */
        readonly OfferView: {
            readonly expires_at: string;
            readonly invited_by: string;
            readonly organization: string;
            readonly role: components["schemas"]["OrgRole"];
        };
        /** @description A possible answer. */
        readonly OptionView: {
            readonly effect: string;
            readonly id: string;
            readonly label: string;
        };
        /**
         * @description States of an order: it waits, is taken, and ends `done` or `failed`. One that waits can be
         *     cancelled.
         * @enum {string}
         */
        readonly OrderState: "waiting" | "taken" | "done" | "failed" | "cancelled";
        /** @description The invitations that can still be accepted. */
        readonly OrgInvitationList: {
            readonly invitations: readonly components["schemas"]["OrgInvitationView"][];
            readonly next: string | null;
        };
        /** @description An invitation to an organization, without its secret. */
        readonly OrgInvitationView: {
            readonly created_at: string;
            readonly email: string;
            readonly expires_at: string;
            readonly groups: readonly string[];
            readonly invitation_id: string;
            readonly invited_by: string;
            readonly role: components["schemas"]["OrgRole"];
        };
        /**
         * @description A member's role in an organization, from the most to the least.
         * @enum {string}
         */
        readonly OrgRole: "owner" | "admin" | "member" | "viewer";
        /** @description An organization to make; `name` is the slug where it is left out. */
        readonly OrganizationBody: {
            readonly name?: string | null;
            readonly slug: string;
        };
        /** @description A change of an organization's names; what is left out stays. */
        readonly OrganizationChangeBody: {
            readonly name?: string | null;
            readonly slug?: string | null;
        };
        /** @description The organization, by id or slug, in which this session works from now on. */
        readonly OrganizationChoice: {
            readonly organization: string;
        };
        /** @description The caller's organizations. */
        readonly OrganizationList: {
            readonly next: string | null;
            readonly organizations: readonly components["schemas"]["OrganizationView"][];
        };
        /**
         * @description An organization and the caller's role in it. `created_at` is null for the one of
         *     single-person mode, which has no other members.
         */
        readonly OrganizationView: {
            readonly created_at: string | null;
            readonly name: string;
            readonly organization_id: string;
            readonly role: components["schemas"]["OrgRole"];
            readonly slug: string;
        };
        /**
         * @description A page. `total` sandboxes are on all pages, `tally` counts all that fit the other filters by
         *     state, and `next` is the following `offset`, null on the last page.
         */
        readonly OverseenPageView: {
            readonly next: number | null;
            readonly sandboxes: readonly components["schemas"]["OverseenView"][];
            readonly tally: {
                readonly [key: string]: number;
            };
            readonly total: number;
        };
        /**
         * @description A sandbox as administrators see it. `agents` are there, `working` are at work, `waiting` need
         *     their person; `counts` are of its whole life.
         */
        readonly OverseenView: {
            readonly agents: number;
            readonly counts: components["schemas"]["DoorCountsView"];
            readonly created_at: string;
            readonly expires_at: string;
            readonly last_used_at: string | null;
            readonly name: string;
            readonly owner: string;
            readonly profile: string;
            readonly reason: string | null;
            readonly retained_until: string | null;
            readonly sandbox_id: string;
            readonly scope: components["schemas"]["Scope"];
            readonly state: components["schemas"]["State"];
            readonly waiting: number;
            readonly working: number;
        };
        /** @description A page of an organization's workers, newest first. */
        readonly OverseenWorkerPage: {
            readonly next: string | null;
            readonly workers: readonly components["schemas"]["OverseenWorkerView"][];
        };
        /**
         * @description A worker as administrators of its organization see it: whose it is, where and why, and what
         *     became of it. What its agent says is its owner's alone.
         */
        readonly OverseenWorkerView: {
            readonly agent: string;
            readonly backend: string | null;
            readonly created_at: string;
            readonly extension: string | null;
            readonly heartbeat_age_ms: number;
            readonly heartbeat_state: components["schemas"]["HeartbeatState"];
            readonly held_by_person: boolean;
            readonly owner: string;
            readonly reason: string | null;
            readonly remove_at: string | null;
            readonly route: components["schemas"]["WorkerRouteView"] | null;
            readonly sandbox: components["schemas"]["WorkerSandboxView"] | null;
            readonly status: components["schemas"]["WorkerStatus"];
            readonly teardown: components["schemas"]["WorkerTeardownView"];
            readonly torn_down: components["schemas"]["WorkerRemovalView"] | null;
            readonly worker_id: string;
        };
        /** @description The secret of a link. */
        readonly OwnLinkBody: {
            readonly secret: string;
        };
        /**
         * @description The person that the caller becomes by a link, and the login by which they do: its name and
         *     email.
         */
        readonly OwnLinkOffer: {
            readonly email: string;
            readonly name: string;
            readonly person: string;
        };
        /**
         * @description A new link, valid once within `expires_in` seconds. `secret`, and the link `url` with it, are
         *     returned only once. `local_only` when no other machine can open the link.
         */
        readonly OwnLinkView: {
            readonly expires_in: number;
            readonly local_only: boolean;
            readonly secret: string;
            readonly url: string;
        };
        /**
         * @description The caller's login at a provider, if there is one, and the name and email that its provider
         *     has for them.
         */
        readonly OwnLoginView: {
            readonly email: string;
            readonly linked: boolean;
            readonly name: string;
        };
        /**
         * @description The resources a runtime itself uses: memory in bytes, processes and threads, each with its
         *     limit; null is not counted or not bounded.
         */
        readonly OwnUsage: {
            readonly memory_bytes: number;
            readonly most_memory_bytes: number | null;
            readonly most_tasks: number | null;
            readonly tasks: number | null;
        };
        /** @description The member whom a sandbox is given to, by id, name or email. */
        readonly OwnerBody: {
            readonly member: string;
        };
        /** @description A part of the wall itself; `weakened`: this sandbox has it in a weaker form. */
        readonly Part: {
            readonly in_force: boolean;
            readonly name: string;
            readonly text: string;
            readonly weakened: boolean;
        };
        /**
         * @description A personal access token to make. Without `capabilities` it may do what the caller may; with
         *     `sandbox_id` (an id or a name) it reaches that sandbox alone. With `account` it is for a service
         *     account of the caller's organization.
         */
        readonly PatBody: {
            readonly account?: string | null;
            readonly capabilities?: readonly string[] | null;
            readonly name: string;
            readonly sandbox_id?: string | null;
            readonly ttl?: (number | string) | null;
        };
        /**
         * @description The acts of an agent without a question: all, or none that needs an approval.
         * @enum {string}
         */
        readonly Permissions: "allow" | "ask";
        /** @description The health of every place where something was tried. */
        readonly PlaceHealthList: {
            readonly places: readonly components["schemas"]["PlaceHealthView"][];
        };
        /** @description The health of an extension at a host, or in a vendor's region. */
        readonly PlaceHealthView: {
            readonly extension: string;
            readonly health: components["schemas"]["RouteHealthView"];
            readonly place: string;
        };
        /** @description The agents of all sandboxes, those that need their person first. */
        readonly PlacedAgentList: {
            readonly agents: readonly components["schemas"]["PlacedAgentView"][];
            readonly next: string | null;
        };
        /** @description An agent, its sandbox, and what it does. */
        readonly PlacedAgentView: {
            readonly agent: string;
            readonly id: string;
            readonly mode: string;
            readonly sandbox_id: string;
            readonly sandbox_name: string;
            readonly sandbox_state: string;
            readonly status: components["schemas"]["StatusView"];
        };
        /**
         * @description The size of a pool: `min` are always there, up to `max` while somebody took one in the last
         *     `idle` seconds, ten minutes where it is left out.
         */
        readonly PoolBody: {
            readonly idle?: (number | string) | null;
            /** @default 2 */
            readonly max?: number;
            /** @default 0 */
            readonly min?: number;
        };
        /** @description The pools of an organization, by profile. */
        readonly PoolList: {
            readonly pools: readonly components["schemas"]["PoolView"][];
        };
        /**
         * @description A pool. `ready` wait for a sandbox, and `building` will; `taken` became sandboxes, and
         *     `missed` sandboxes found none. `trouble` is why the last one could not be built, null when it
         *     was.
         */
        readonly PoolView: {
            readonly building: number;
            readonly idle: number;
            readonly max: number;
            readonly min: number;
            readonly missed: number;
            readonly profile: string;
            readonly ready: number;
            readonly set_at: string;
            readonly set_by: string;
            readonly taken: number;
            readonly trouble: string | null;
        };
        /** @description The ports of a sandbox on which something listens, in order. */
        readonly PortListView: {
            readonly ports: readonly components["schemas"]["PortView"][];
        };
        /** @description A port on which something listens. `chosen`: its program chose the number itself. */
        readonly PortView: {
            readonly chosen: boolean;
            readonly port: number;
        };
        /** @description The presence of a desktop, whose lane runs with this wall. */
        readonly PresenceBody: {
            readonly isolation: components["schemas"]["WallBody"];
        };
        /** @description A person who is on a dashboard now. */
        readonly PresentPersonView: {
            readonly id: string;
            readonly name: string;
        };
        /**
         * @description A preview to make: the name of the app, and the port at which its server will listen. With
         *     `pr_number` its name is `pr-{number}.{app}`. `sha` is the commit that it shows, for readers.
         */
        readonly PreviewBody: {
            readonly app: string;
            readonly port: number;
            readonly pr_number?: number | null;
            readonly sha?: string | null;
        };
        /** @description The output of the set-up that built a preview, as far as it is still kept. */
        readonly PreviewLogView: {
            readonly text: string;
        };
        /** @description A page of previews, newest first. */
        readonly PreviewPage: {
            readonly next: string | null;
            readonly previews: readonly components["schemas"]["PreviewView"][];
        };
        /**
         * @description The state of a preview. `ready`: its set-up succeeded; whether a server listens yet is known
         *     only inside. `gone`: it was torn down, or its sandbox is destroyed.
         * @enum {string}
         */
        readonly PreviewState: "building" | "ready" | "failed" | "gone";
        /**
         * @description A preview. `url` is its origin, which opens for who came by a link. `terminal_id` is the
         *     terminal of the set-up that built it, `reason` says why that failed.
         */
        readonly PreviewView: {
            readonly app: string;
            readonly created_at: string;
            readonly port: number;
            readonly pr_number: number | null;
            readonly preview_id: string;
            readonly reason: string | null;
            readonly sandbox_id: string;
            readonly sha: string | null;
            readonly state: components["schemas"]["PreviewState"];
            readonly terminal_id: string | null;
            readonly updated_at: string;
            readonly url: string;
        };
        /** @description An RFC 9457 problem document. */
        readonly Problem: {
            /**
             * @description A stable code to decide by.
             * @example not_found
             */
            readonly code: string;
            /** @description What failed, which id, why, and what to do. */
            readonly detail: string;
            /**
             * @description Which input is wrong (`invalid` only).
             * @default null
             */
            readonly field?: string | null;
            /**
             * @description The request as the server's log names it: `X-Request-ID`.
             * @default null
             */
            readonly request_id?: string | null;
            readonly status: number;
            /** @example Not Found */
            readonly title: string;
            /** @example about:blank */
            readonly type: string;
        } & {
            readonly [key: string]: unknown;
        };
        /** @description The newest version of each profile. */
        readonly ProfileList: {
            readonly next: string | null;
            readonly profiles: readonly components["schemas"]["ProfileView"][];
        };
        /** @description The name and version of a profile. */
        readonly ProfileName: {
            readonly id: string;
            readonly version: string;
        };
        /**
         * @description A profile as its document has it, and whether it came with Atoll. `obstacle` says why no
         *     sandbox can be made from it here; null when one can.
         */
        readonly ProfileView: {
            readonly bundled: boolean;
            readonly id: string;
            readonly obstacle: string | null;
            readonly version: string;
        } & {
            readonly [key: string]: unknown;
        };
        /** @description A profile, and all its versions, newest first. */
        readonly ProfileWithVersions: {
            readonly bundled: boolean;
            readonly id: string;
            readonly obstacle: string | null;
            readonly version: string;
            readonly versions: readonly string[];
        } & {
            readonly [key: string]: unknown;
        };
        /**
         * @description A repository as a sandbox would be made from it: `repo_url`, or the `key` of one uploaded
         *     before.
         */
        readonly ProjectBody: {
            readonly branch?: string | null;
            readonly from_branch?: string | null;
            readonly key?: string | null;
            readonly repo_url?: string | null;
        };
        /** @description The proposals that came and went since the last decision. */
        readonly ProjectChangesView: {
            readonly added: readonly components["schemas"]["ProposalView"][];
            readonly removed: readonly components["schemas"]["ProposalView"][];
        };
        /**
         * @description A person's decision on a project file.
         * @enum {string}
         */
        readonly ProjectDecision: "approved" | "declined";
        /** @description The caller's decisions, newest first. */
        readonly ProjectList: {
            readonly next: string | null;
            readonly projects: readonly components["schemas"]["DecidedView"][];
        };
        /**
         * @description An approved project of the first repository, by its digest. With the set-up `later` the
         *     caller starts it itself, after it sent its files.
         */
        readonly ProjectUseBody: {
            readonly digest: string;
            /**
             * @default now
             * @enum {string}
             */
            readonly setup?: "now" | "later";
        };
        /**
         * @description A repository's project file and the caller's decision on it.
         *
         *     `file` is empty where there is none, `problem` says why one cannot be used. `agent` is a
         *     default, and so is an approved `profile`. `ignored` lists entries without effect. `undecided`: a
         *     person is to be asked.
         */
        readonly ProjectView: {
            readonly agent: string | null;
            readonly changes: components["schemas"]["ProjectChangesView"];
            readonly commit: string;
            readonly decision: components["schemas"]["ProjectDecision"] | null;
            readonly digest: string;
            readonly file: string;
            readonly ignored: readonly string[];
            readonly problem: string | null;
            readonly profile: string | null;
            readonly proposals: readonly components["schemas"]["ProposalView"][];
            readonly repository: string;
            readonly undecided: boolean;
        };
        /** @description A prompt. */
        readonly PromptBody: {
            readonly prompt: string;
        };
        /**
         * @description The kinds of what a project file may ask for and a person decides.
         * @enum {string}
         */
        readonly ProposalKind: "setup" | "server" | "copy" | "network" | "host" | "port" | "env" | "profile";
        /** @description A request of the file that a person decides on; `text` is exact. */
        readonly ProposalView: {
            readonly kind: components["schemas"]["ProposalKind"];
            readonly text: string;
        };
        /** @description The sandbox's terminals. */
        readonly PtyList: {
            readonly ptys: readonly components["schemas"]["PtyView"][];
        };
        /**
         * @description A terminal. `offset` is the end of its output so far, `ring_start` the oldest byte that
         *     can be replayed; `recording` whether what it shows is being kept,
         *     `renamed` whether a person gave it its name, `fixed` whether its size follows no driver.
         */
        readonly PtyView: {
            readonly argv: readonly string[];
            readonly cols: number;
            readonly cwd: string;
            readonly driver: string | null;
            readonly exit: components["schemas"]["End"] | null;
            readonly fixed: boolean;
            readonly name: string;
            readonly offset: number;
            readonly pty_id: string;
            readonly recording: boolean;
            readonly renamed: boolean;
            readonly ring_start: number;
            readonly rows: number;
            readonly started_at: string;
            /** @enum {string} */
            readonly state: "running" | "exited";
            readonly title: string;
            readonly viewers: number;
        };
        /**
         * @description A pull: `branch` is the one inside (the sandbox's own when left out), or with `pushed` a
         *     held push; `into` is the branch to write. `uncommitted` adds a commit of what is not
         *     committed. A held push that is no longer at the commit `expects` is not pulled.
         */
        readonly PullBody: {
            readonly branch?: string | null;
            readonly expects?: string | null;
            readonly into?: string | null;
            /** @default false */
            readonly pushed?: boolean;
            /** @default 0 */
            readonly repo?: number;
            /** @default false */
            readonly uncommitted?: boolean;
        };
        /** @description The caller's pull orders for a sandbox, newest first. `watched` when a checkout waits. */
        readonly PullList: {
            readonly pulls: readonly components["schemas"]["PullView"][];
            readonly watched: boolean;
        };
        /** @description A pull request that was opened for repository number `repo`; `pull` is its number. */
        readonly PullMarkView: {
            readonly at: string;
            readonly base: string;
            readonly branch: string;
            readonly pull: number;
            readonly repo: number;
            readonly state: components["schemas"]["PullState"];
        };
        /**
         * @description A pull request of a branch (by default the one that is checked out) for `base` (by default
         *     the one that it began from). Its title is by default the first line of the sandbox's task. The
         *     branch is pushed first. It answers the issue that the task began with.
         */
        readonly PullRequestBody: {
            readonly base?: string | null;
            readonly branch?: string | null;
            /** @default false */
            readonly draft?: boolean;
            /** @default 0 */
            readonly repo?: number;
            /** @default  */
            readonly text?: string;
            readonly title?: string | null;
        };
        /** @description The pull requests of a branch, newest first. */
        readonly PullRequestList: {
            readonly pull_requests: readonly components["schemas"]["PullRequestView"][];
        };
        /**
         * @description A pull request. `commit` is the newest that the forge has of its branch; `existed` is false
         *     for one that this request opened.
         */
        readonly PullRequestView: {
            readonly base: string;
            readonly branch: string;
            readonly commit: string;
            readonly draft: boolean;
            readonly existed: boolean;
            readonly number: number;
            readonly state: components["schemas"]["PullState"];
            readonly title: string;
            readonly url: string;
        };
        /**
         * @description The end of a pull: the branch that was written, its commit and how many are new, or why
         *     not.
         */
        readonly PullResultBody: {
            readonly commit?: string | null;
            /** @default 0 */
            readonly commits?: number;
            readonly done: boolean;
            /** @default  */
            readonly said?: string;
            readonly written?: string | null;
        };
        /**
         * @description The state of a pull request.
         * @enum {string}
         */
        readonly PullState: "open" | "merged" | "closed";
        /**
         * @description A pull order. `written` is the branch that was written, now at `commit` with `commits` new
         *     ones; `said` is how it ended. `expects` is the commit that a held push was seen at.
         */
        readonly PullView: {
            readonly at: string;
            readonly branch: string | null;
            readonly commit: string | null;
            readonly commits: number;
            readonly expects: string | null;
            readonly into: string | null;
            readonly order_id: string;
            readonly pushed: boolean;
            readonly repo: number;
            readonly said: string;
            readonly sandbox_id: string;
            readonly sandbox_name: string;
            readonly state: components["schemas"]["OrderState"];
            readonly uncommitted: boolean;
            readonly written: string | null;
        };
        /** @description Repository number `repo` is outside up to `commit`. */
        readonly PulledBody: {
            readonly commit: string;
            /** @default 0 */
            readonly repo?: number;
        };
        /**
         * @description The purpose of a secret.
         * @enum {string}
         */
        readonly Purpose: "provider" | "custom" | "env" | "git" | "forge" | "drive" | "extension" | "oauth";
        /** @description The keys of a browser, as the Push API gives them, in base64url. */
        readonly PushKeysBody: {
            readonly auth: string;
            readonly p256dh: string;
        };
        /** @description The held pushes of a sandbox, newest first. */
        readonly PushList: {
            readonly pushes: readonly components["schemas"]["PushView"][];
        };
        /** @description A browser's subscription, in the names of the Push API. */
        readonly PushSubscriptionBody: {
            readonly endpoint: string;
            readonly keys: components["schemas"]["PushKeysBody"];
        };
        /** @description The caller's browsers, and the key (base64url) that another one subscribes with. */
        readonly PushSubscriptionList: {
            readonly public_key: string;
            readonly subscriptions: readonly components["schemas"]["PushSubscriptionView"][];
        };
        /** @description A browser. `service` is the host of its push service; its endpoint stays here. */
        readonly PushSubscriptionView: {
            readonly created_at: string;
            readonly service: string;
            readonly subscription_id: string;
        };
        /**
         * @description A held push: `commits` new commits of repository number `repo`, up to `commit`, whose first
         *     line is `subject`. `GET /v1/kept/{kept_id}/bundle` brings it.
         */
        readonly PushView: {
            readonly branch: string;
            readonly bytes: number;
            readonly commit: string;
            readonly commits: number;
            readonly kept_id: string;
            readonly kept_until: string;
            readonly pushed_at: string;
            readonly ref: string;
            readonly repo: number;
            readonly subject: string;
        };
        /** @description Quantities: cores, and sizes in `Mi`, `Gi` or `Ti`; null is not limited. */
        readonly QuantitiesView: {
            readonly concurrentSessions: number | null;
            readonly cpu: string | null;
            readonly memory: string | null;
            readonly sandboxes: number | null;
            readonly storage: string | null;
        };
        /** @description A quota; what is left out or null is not limited. */
        readonly QuotaBody: {
            readonly concurrentSessions?: number | null;
            readonly cpu?: string | null;
            readonly memory?: string | null;
            readonly sandboxes?: number | null;
            readonly storage?: string | null;
        };
        /** @description Quotas: the organization's first. */
        readonly QuotaList: {
            readonly next: string | null;
            readonly quotas: readonly components["schemas"]["HeldQuotaView"][];
        };
        /** @description A tunnel or an identity provider that the profile names, as the settings describe it. */
        readonly ReachabilityEntryView: {
            readonly kind: string;
            readonly url: string;
        };
        /**
         * @description The ways to a sandbox. `runtime` is its path in the API, `poll_url` answers its state and
         *     `events_url` its events. `ssh` is null where the SSH
         *     gateway listens at no address of its own. `tunnel` and `identity` are those
         *     that the profile names, null where it names none or the settings have lost them.
         *     `lifecycle_webhook` is null where the create named none.
         */
        readonly ReachabilityView: {
            readonly events_url: string;
            readonly identity: components["schemas"]["ReachabilityEntryView"] | null;
            readonly lifecycle_webhook: components["schemas"]["LifecycleWebhookView"] | null;
            readonly poll_url: string;
            readonly runtime: string;
            readonly ssh: components["schemas"]["SshReachView"] | null;
            readonly tunnel: components["schemas"]["ReachabilityEntryView"] | null;
        };
        /**
         * @description The state of an agent. `unavailable`: neither installing it nor a key helps.
         * @enum {string}
         */
        readonly ReadinessState: "works" | "key_missing" | "not_installed" | "unavailable";
        /** @description The ways to log in. `mode` is `local` for login links alone, `oidc` for these realms, too. */
        readonly RealmList: {
            /** @enum {string} */
            readonly mode: "local" | "oidc";
            readonly realms: readonly components["schemas"]["RealmView"][];
        };
        /** @description A realm: a login provider. The browser opens `login_path`. */
        readonly RealmView: {
            readonly login_path: string;
            readonly name: string;
            readonly realm: string;
        };
        /** @description The number of strays that were ended; `problems` has a sentence for each failure. */
        readonly ReapedView: {
            readonly ended: number;
            readonly problems: readonly string[];
        };
        /**
         * @description A recording. `state` is `recording` while it runs, then why it ended: `stopped`, `ended`
         *     with its terminal, `full`, or `failed` (the disk, a crash).
         */
        readonly Recording: {
            readonly by: string;
            readonly bytes: number;
            readonly cols: number;
            readonly commands: number;
            readonly ended_at: string | null;
            readonly name: string;
            readonly principal: string;
            readonly recording_id: string;
            readonly rows: number;
            readonly seconds: number;
            readonly started_at: string;
            /** @enum {string} */
            readonly state: "recording" | "stopped" | "ended" | "full" | "failed";
            readonly terminal_id: string;
        };
        /** @description The sandbox's recordings, oldest first. */
        readonly RecordingList: {
            readonly recordings: readonly components["schemas"]["Recording"][];
        };
        /** @description The whole address that the browser was sent back to. */
        readonly RedirectBody: {
            readonly redirect: string;
        };
        /** @description A full ref name and the commit it names. */
        readonly Ref: {
            readonly commit: string;
            readonly name: string;
        };
        /**
         * @description A kind of name for a commit.
         * @enum {string}
         */
        readonly RefKind: "branch" | "remote" | "tag";
        /** @description A remark, as text. */
        readonly RemarkBody: {
            readonly text: string;
        };
        /**
         * @description A remark. `author` is an id; `author_name` is how they were called then, null where they had
         *     no name. `edited_at` is when they last changed it.
         */
        readonly RemarkView: {
            readonly at: string;
            readonly author: string;
            readonly author_name: string | null;
            readonly edited_at: string | null;
            readonly remark_id: string;
            readonly text: string;
        };
        /**
         * @description The events to send again: the dead letter of one event, everything after a position, or with
         *     neither all dead letters.
         */
        readonly ReplayBody: {
            readonly after?: number | null;
            readonly event_id?: string | null;
        };
        /**
         * @description Result of a replay: the number of dead letters that are sent again, or the position after
         *     which everything is. `gap` is the part of that which is no longer kept.
         */
        readonly ReplayView: {
            readonly after: number | null;
            readonly deliveries: number;
            readonly gap: components["schemas"]["Gap"] | null;
        };
        /**
         * @description A repository.
         *
         *     `repo_url`, or the `key` of one uploaded before; `sparse` are the directories of it to lay out,
         *     `path` is its place in the workspace.
         */
        readonly RepoBody: {
            readonly branch?: string | null;
            readonly from_branch?: string | null;
            readonly key?: string | null;
            readonly path?: string | null;
            readonly repo_url?: string | null;
            /** @default [] */
            readonly sparse?: readonly string[];
        };
        /**
         * @description A repository inside. `submodules` are paths of those that are not laid out, `lfs_files`
         *     counts files that are pointers to objects of LFS, both as of its last start.
         */
        readonly RepoView: {
            readonly branch: string;
            readonly from_branch: string | null;
            readonly key: string | null;
            readonly lfs_files: number;
            readonly path: string;
            readonly repo_url: string;
            readonly sparse: readonly string[];
            readonly submodules: readonly string[];
        };
        /** @description The shared repositories, by key. */
        readonly RepositoryList: {
            readonly next: string | null;
            readonly repositories: readonly components["schemas"]["RepositoryView"][];
        };
        /** @description A shared repository. `repo_url` is empty for an uploaded checkout without an origin. */
        readonly RepositoryView: {
            readonly bytes: number;
            readonly fetched_at: string;
            readonly key: string;
            readonly name: string;
            readonly repo_url: string;
        };
        /** @description A shared repository and its refs; the branch HEAD stands for comes first. */
        readonly RepositoryWithRefs: {
            readonly bytes: number;
            readonly fetched_at: string;
            readonly key: string;
            readonly name: string;
            readonly refs: readonly components["schemas"]["Ref"][];
            readonly repo_url: string;
        };
        /** @description The settling of a thread. */
        readonly ResolutionView: {
            readonly at: string;
            readonly by: string;
            readonly by_name: string | null;
        };
        /** @description The agent's answer to a request, as JSON text. */
        readonly ResponseItem: {
            readonly request_id: string;
            readonly result: string;
        };
        /** @description The snapshot that a sandbox is to be as again. */
        readonly RestoreBody: {
            readonly snapshot: string;
        };
        /** @description The number of the checkpoint that saves the files as they were until now. */
        readonly RestoredView: {
            readonly saved: number;
        };
        /**
         * @description A review. `mark` is that of the work that the person saw; with `reviewed` false the review is
         *     taken back.
         */
        readonly ReviewBody: {
            readonly mark?: string | null;
            /** @default true */
            readonly reviewed?: boolean;
        };
        /** @description The threads of a sandbox, oldest first. */
        readonly ReviewThreadList: {
            readonly threads: readonly components["schemas"]["ReviewThreadView"][];
        };
        /**
         * @description A thread; its place is the one where it was opened. `unsent`: it is open, and says something
         *     that no agent has received.
         */
        readonly ReviewThreadView: {
            readonly line: number;
            readonly lines: readonly string[];
            readonly opened_at: string;
            readonly path: string;
            readonly remarks: readonly components["schemas"]["RemarkView"][];
            readonly repo: number;
            readonly resolved: components["schemas"]["ResolutionView"] | null;
            readonly sent: components["schemas"]["ThreadSendingView"] | null;
            readonly side: components["schemas"]["Side"];
            readonly thread_id: string;
            readonly unsent: boolean;
        };
        /**
         * @description The role of a client: it may watch; request control; take it.
         * @enum {string}
         */
        readonly Role: "viewer" | "controller" | "owner";
        /** @description A rotation. The former secret signs, too, for the time of `overlap`; 0 ends it at once. */
        readonly RotateBody: {
            /** @default 86400 */
            readonly overlap?: 0 | (number | string);
        };
        /** @description The id of the key that signs from now on. */
        readonly RotatedKey: {
            readonly kid: string;
        };
        /** @description The new master key's id, the number of values under it now, and of removed old keys. */
        readonly RotatedView: {
            readonly key_id: string;
            readonly retired: number;
            readonly secrets: number;
        };
        /** @description A rotation of the signing keys. `at_once` ends what older keys signed. */
        readonly RotationBody: {
            /** @default false */
            readonly at_once?: boolean;
        };
        /** @description A start at one place that ended; `reason` is why it failed, null when it was ready. */
        readonly RouteAttemptView: {
            readonly at: string;
            readonly extension: string;
            readonly host: string;
            readonly reason: string | null;
            readonly region: string;
        };
        /**
         * @description A backend at one place, in the order in which it is tried. `fit` is false where `reasons` say
         *     why it cannot take the sandbox. `host` is empty on a vendor's machines.
         */
        readonly RouteCandidateView: {
            readonly cost_per_hour: components["schemas"]["HostCostView"] | null;
            readonly execution_mode: components["schemas"]["ExecutionMode"];
            readonly extension: string;
            readonly fit: boolean;
            readonly gpus: readonly string[];
            readonly health: components["schemas"]["RouteHealthView"];
            readonly host: string;
            readonly isolation: components["schemas"]["IsolationLevel"];
            readonly reasons: readonly string[];
            readonly region: string;
            readonly self_hosted: boolean;
        };
        /** @description The backend and the place that were chosen. */
        readonly RouteChoiceView: {
            readonly extension: string;
            readonly host: string;
            readonly region: string;
        };
        /** @description Limits that a backend must keep; null is no limit. */
        readonly RouteConstraintsView: {
            readonly execution_mode: components["schemas"]["ExecutionMode"] | null;
            readonly gpu: string | null;
            readonly max_cost_per_hour: components["schemas"]["HostCostView"] | null;
            readonly max_ready_ms: number | null;
            readonly min_success: number | null;
            readonly region: string | null;
            readonly require_isolation: components["schemas"]["IsolationLevel"] | null;
        };
        /**
         * @description A decision: what it was made from, and the verdict on every candidate. `only` is the backend
         *     that the caller named; every one of `limits` holds.
         */
        readonly RouteDecisionView: {
            readonly allowed: readonly (readonly string[])[];
            readonly candidates: readonly components["schemas"]["RouteCandidateView"][];
            readonly chosen: components["schemas"]["RouteChoiceView"] | null;
            readonly extensions: readonly string[];
            readonly limits: readonly components["schemas"]["RouteConstraintsView"][];
            readonly need: components["schemas"]["RouteNeedView"];
            readonly only: string | null;
            readonly strategy: components["schemas"]["Strategy"];
        };
        /** @description Health as measured in the last day; null while nothing was. `success` is from 0 to 1. */
        readonly RouteHealthView: {
            readonly attempts: number;
            readonly breaker: components["schemas"]["Breaker"];
            readonly p50_ms: number | null;
            readonly p95_ms: number | null;
            readonly success: number | null;
        };
        /** @description An evacuation that brought the sandbox's files from one host to another. */
        readonly RouteMoveView: {
            readonly at: string;
            readonly source: string;
            readonly target: string;
        };
        /** @description The needs of the sandbox that candidates were judged by. */
        readonly RouteNeedView: {
            readonly closed_network: boolean;
            readonly cpu: number | null;
            readonly image: string;
            readonly isolation: components["schemas"]["IsolationLevel"];
            readonly memory_mb: number | null;
            readonly workspace_mb: number | null;
        };
        /**
         * @description The narrower choice of one request: never more than its profile's route allows. A named
         *     `extension` is the only one that is tried. `accept_open_network` agrees to one that cannot close
         *     its network.
         */
        readonly RouteOptionsBody: {
            /** @default false */
            readonly accept_open_network?: boolean;
            readonly execution_mode?: components["schemas"]["ExecutionMode"] | null;
            readonly extension?: string | null;
            readonly gpu?: string | null;
            readonly max_cost_per_hour?: components["schemas"]["CostBody"] | null;
            readonly max_ready_ms?: number | null;
            readonly min_success?: number | null;
            readonly region?: string | null;
            readonly require_isolation?: components["schemas"]["IsolationLevel"] | null;
            readonly strategy?: components["schemas"]["Strategy"] | null;
        };
        /**
         * @description A policy: `extensions` in declared order; none are all that are installed. `fallback` is the
         *     same by the word that profiles have for it: give one of the two.
         */
        readonly RoutePolicyBody: {
            /** @default {} */
            readonly constraints?: components["schemas"]["ConstraintsBody"];
            /** @default [] */
            readonly extensions?: readonly string[];
            /** @default [] */
            readonly fallback?: readonly string[];
            /** @default prefer-self-hosted */
            readonly strategy?: components["schemas"]["Strategy"];
        };
        /**
         * @description A policy: `extensions` in declared order; none are all that are installed. `fallback` is the
         *     same by the word that profiles have for it.
         */
        readonly RoutePolicyView: {
            readonly constraints: components["schemas"]["RouteConstraintsView"];
            readonly extensions: readonly string[];
            readonly fallback: readonly string[];
            readonly strategy: components["schemas"]["Strategy"];
        };
        /**
         * @description The rules of the caller's organization or of the installation, which replace those before:
         *     `default` is the policy of profiles without one, `allow` the backends that may be used, null
         *     all of them.
         */
        readonly RouteRulesBody: {
            readonly allow?: readonly string[] | null;
            readonly default?: components["schemas"]["RoutePolicyBody"] | null;
            /**
             * @default organization
             * @enum {string}
             */
            readonly scope?: "organization" | "installation";
        };
        /** @description Rules: `default` is null where none was set, `allow` where every backend is allowed. */
        readonly RouteRulesView: {
            readonly allow: readonly string[] | null;
            readonly default: components["schemas"]["RoutePolicyView"] | null;
        };
        /** @description The stored decision of a sandbox, and the attempts and the moves since, oldest first. */
        readonly RouteView: {
            readonly allowed: readonly (readonly string[])[];
            readonly at: string;
            readonly attempts: readonly components["schemas"]["RouteAttemptView"][];
            readonly candidates: readonly components["schemas"]["RouteCandidateView"][];
            readonly chosen: components["schemas"]["RouteChoiceView"] | null;
            readonly extensions: readonly string[];
            readonly limits: readonly components["schemas"]["RouteConstraintsView"][];
            readonly moves: readonly components["schemas"]["RouteMoveView"][];
            readonly need: components["schemas"]["RouteNeedView"];
            readonly only: string | null;
            readonly route_id: string;
            readonly sandbox_id: string;
            readonly strategy: components["schemas"]["Strategy"];
        };
        /** @description Sandboxes that run on the installation. */
        readonly RunningList: {
            readonly sandboxes: readonly components["schemas"]["RunningView"][];
        };
        /** @description A sandbox that runs, or is being made, of whatever organization. */
        readonly RunningView: {
            readonly name: string;
            readonly org_id: string;
            readonly owner: string;
            readonly reason: string | null;
            readonly sandbox_id: string;
            readonly state: components["schemas"]["State"];
        };
        /** @description The six layers, the wall in front of them (once it ran), and its missing parts. */
        readonly SafetyView: {
            readonly degraded: readonly string[];
            readonly layers: readonly components["schemas"]["Layer"][];
            readonly wall: readonly components["schemas"]["Part"][];
        };
        /** @description An agent of a sandbox, and what it does. */
        readonly SandboxAgentView: {
            readonly agent: string;
            readonly id: string;
            readonly mode: string;
            readonly status: components["schemas"]["StatusView"];
        };
        /** @description A page, newest first; `next` is the following `cursor`. */
        readonly SandboxPage: {
            readonly next: string | null;
            readonly sandboxes: readonly components["schemas"]["SandboxView"][];
        };
        /**
         * @description The approved project: its set-up commands and their state, `terminal_id` the terminal they
         *     run in, `reason` why they failed; servers' commands by terminal, ports to forward, and files
         *     that the caller sends. `prebuilt_at`: when the snapshot was taken that the sandbox began as
         *     instead of running its set-up.
         */
        readonly SandboxProjectView: {
            readonly copies: readonly string[];
            readonly digest: string;
            readonly ports: readonly number[];
            readonly prebuilt_at: string | null;
            readonly reason: string | null;
            readonly repository: string;
            readonly servers: {
                readonly [key: string]: string;
            };
            readonly setup: readonly string[];
            readonly state: components["schemas"]["SetupState"];
            readonly terminal_id: string | null;
        };
        /**
         * @description A tool. `rule` is what happens when an agent inside calls it. `missing` says by a word why it
         *     does not have it, and `reason` by a sentence; both are null for a tool that it has.
         */
        readonly SandboxToolView: {
            readonly missing: components["schemas"]["ToolMissing"] | null;
            readonly name: string;
            readonly permission: string;
            readonly reason: string | null;
            readonly rule: components["schemas"]["ToolRule"];
        };
        /** @description The tools of this installation, as far as a sandbox has them, by name. */
        readonly SandboxToolsView: {
            readonly tools: readonly components["schemas"]["SandboxToolView"][];
        };
        /**
         * @description A sandbox. In a list `inputs.compose_bundle` is null. `idle_action` comes after
         *     `idle_stop_seconds` without use. `asleep`: it is stopped, and using it wakes it; while that is
         *     under way only `asleep_since` tells it.
         */
        readonly SandboxView: {
            readonly agent: string | null;
            readonly agent_catalogue: readonly string[] | null;
            readonly agents: readonly components["schemas"]["SandboxAgentView"][];
            readonly agents_inside: readonly string[] | null;
            readonly archived_at: string | null;
            readonly asleep: boolean;
            readonly asleep_since: string | null;
            readonly consumer: components["schemas"]["Consumer"];
            readonly created_at: string;
            readonly cwd: string;
            readonly ends_soon: boolean;
            readonly expires_at: string;
            readonly exposed_secrets: readonly string[];
            readonly extension: string;
            readonly generation: number;
            readonly host: string;
            readonly idle_action: components["schemas"]["IdleAction"];
            readonly idle_reap_seconds: number | null;
            readonly idle_stop_seconds: number | null;
            readonly inputs: components["schemas"]["Inputs"];
            readonly isolation: components["schemas"]["IsolationView"] | null;
            readonly kept_at: string | null;
            readonly last_active_at: string | null;
            readonly last_used_at: string | null;
            readonly leftovers: readonly string[];
            readonly max_expires_at: string;
            readonly metadata: components["schemas"]["MetadataView"];
            readonly name: string;
            readonly network_mode: components["schemas"]["NetworkMode"];
            readonly org_id: string;
            readonly owner: string;
            readonly parent: string | null;
            readonly poll_url: string;
            readonly profile: components["schemas"]["ProfileName"];
            readonly project: components["schemas"]["SandboxProjectView"] | null;
            readonly reachability: components["schemas"]["ReachabilityView"];
            readonly ready_at: string | null;
            readonly reason: string | null;
            readonly region: string;
            readonly repos: readonly components["schemas"]["RepoView"][];
            readonly retained_until: string | null;
            readonly route: string | null;
            readonly sandbox_id: string;
            readonly scope: components["schemas"]["Scope"];
            readonly setup_metadata: components["schemas"]["SetupView"];
            readonly softlock: components["schemas"]["Strictness"];
            readonly state: components["schemas"]["State"];
            readonly task: components["schemas"]["TaskView"] | null;
            readonly updated_at: string;
            readonly wake: components["schemas"]["WakePolicy"];
            readonly work: components["schemas"]["WorkView"] | null;
            readonly workspace: components["schemas"]["WorkspaceView"];
        };
        /**
         * @description The end of a sandbox, and who shares it.
         *
         *     `session`: it ends with its consumer's session. `agent`: it is the consumer's only one.
         *     `shared`: its organization's members may attach, by their role.
         * @enum {string}
         */
        readonly Scope: "session" | "agent" | "shared";
        /**
         * @description The use of a secret, and its value.
         *
         *     `broker_protected: false` is the owner's exception: the value itself enters sandboxes, in the
         *     variable `env`. `forge` and its address `remote` make a token for pull requests, which never
         *     enters a sandbox. `extension` names the backend whose vendor's machines it pays for.
         *     `look_alike`: a person read both spellings of a host with letters beyond
         *     ASCII, which is refused without it.
         */
        readonly SecretBody: {
            readonly base_url?: string | null;
            /** @default true */
            readonly broker_protected?: boolean;
            readonly env?: string | null;
            readonly extension?: string | null;
            readonly forge?: components["schemas"]["ForgeKind"] | null;
            /** @default [] */
            readonly headers?: readonly string[];
            /** @default [] */
            readonly hosts?: readonly string[];
            /** @default custom */
            readonly kind?: components["schemas"]["Purpose"];
            /** @default false */
            readonly look_alike?: boolean;
            readonly provider?: string | null;
            /** @default [] */
            readonly push?: readonly string[];
            readonly remote?: string | null;
            /** @default person */
            readonly scope?: string;
            /**
             * @default bearer
             * @enum {string}
             */
            readonly slot?: "bearer" | "header" | "query" | "basic";
            /** @default  */
            readonly slot_name?: string;
            readonly value: string;
        };
        /** @description The secrets, by name. */
        readonly SecretList: {
            readonly next: string | null;
            readonly secrets: readonly components["schemas"]["SecretView"][];
        };
        /** @description A secret, without its value. `last4` is empty for a short one. */
        readonly SecretView: {
            readonly base_url: string | null;
            readonly broker_protected: boolean;
            readonly created_at: string;
            readonly env: string | null;
            readonly extension: string | null;
            readonly fingerprint: string;
            readonly forge: components["schemas"]["ForgeKind"] | null;
            readonly headers: readonly string[];
            readonly hosts: readonly string[];
            readonly kind: components["schemas"]["Purpose"];
            readonly last4: string;
            readonly name: string;
            readonly org_id: string;
            readonly owner: string;
            readonly provider: string | null;
            readonly push: readonly string[];
            readonly remote: string | null;
            readonly scope: string;
            readonly secret_id: string;
            /** @enum {string} */
            readonly slot: "bearer" | "header" | "query" | "basic";
            readonly slot_name: string;
            readonly updated_at: string;
            readonly version: number;
        };
        /**
         * @description A snapshot to begin as, by its id or name. It brings the recipe, the files and the
         *     repositories, which go on in `branch`.
         */
        readonly SeedBody: {
            readonly branch?: string | null;
            /** @default continue */
            readonly conversation?: components["schemas"]["Conversation"];
            readonly snapshot: string;
        };
        /**
         * @description Limits of the backend's choice, which narrow what the installation allows. `allow` are
         *     backends by word or id; none are all. `max_ready_ms` is the slowest median time until a sandbox
         *     is ready, `min_success` the least share of starts that succeed, from 0 to 1.
         *     `accept_open_network` agrees to a backend that cannot close its network.
         */
        readonly SelectionBody: {
            /** @default false */
            readonly accept_open_network?: boolean;
            /** @default [] */
            readonly allow?: readonly string[];
            readonly max_cost_per_hour?: components["schemas"]["WorkerCostBody"] | null;
            readonly max_ready_ms?: number | null;
            readonly min_success?: number | null;
            readonly region?: string | null;
            readonly require_isolation?: components["schemas"]["IsolationLevel"] | null;
            readonly strategy?: components["schemas"]["Strategy"] | null;
        };
        /** @description The threads to send to an agent, each by its id. */
        readonly SendThreadsBody: {
            readonly agent_id: string;
            readonly threads: readonly string[];
        };
        /** @description A question of the agent that nobody has answered; `params` are its own JSON, as text. */
        readonly ServerRequestView: {
            readonly at: string;
            readonly method: string;
            readonly params: string;
            readonly server_request_id: string;
            readonly thread_id: string | null;
        };
        /** @description A service account to make: a member that acts as automation (`atm`). */
        readonly ServiceAccountBody: {
            /** @default [] */
            readonly groups?: readonly string[];
            readonly name: string;
            /** @default member */
            readonly role?: components["schemas"]["OrgRole"];
        };
        /** @description A service: its name, what it says, and the worker that it is about. */
        readonly ServiceEventBody: {
            readonly data?: {
                readonly [key: string]: unknown;
            };
            readonly name: string;
            readonly worker_id?: string | null;
        };
        /** @description A session: a sandbox, which `/v1/sandboxes/{session_id}` shows whole. */
        readonly SessionView: {
            readonly created_at: string;
            readonly name: string;
            readonly session_id: string;
            readonly state: components["schemas"]["State"];
        };
        /**
         * @description A setting. `now` is empty while it is not known; `free` accepts values that are not among
         *     the choices.
         */
        readonly SettingView: {
            readonly choices: readonly components["schemas"]["ChoiceView"][];
            readonly free: boolean;
            readonly now: string;
        };
        /** @description A setting of an agent to change: `model` or `permission_mode`. */
        readonly SettingsBody: {
            readonly model?: string | null;
            readonly permission_mode?: string | null;
        };
        /** @description Settings of an agent that can be changed; null where it has no such setting. */
        readonly SettingsView: {
            readonly model: components["schemas"]["SettingView"] | null;
            readonly permission_mode: components["schemas"]["SettingView"] | null;
        };
        /**
         * @description Words for the agent, or a reference to the file that holds them: `repo:PATH` of the sandbox's
         *     repository, `owner/repo@REF:PATH` or `upload:KEY@REF:PATH` of another; and names of secrets.
         */
        readonly SetupBody: {
            readonly instructions?: string | null;
            readonly instructions_ref?: string | null;
            /** @default [] */
            readonly secret_refs?: readonly string[];
        };
        /**
         * @description The state of a set-up. `none`: there are no commands; `waiting`: they did not start.
         * @enum {string}
         */
        readonly SetupState: "none" | "waiting" | "running" | "done" | "failed";
        /**
         * @description The agent's instructions, once they are known, their source and whether an agent has them;
         *     and names of secrets.
         */
        readonly SetupView: {
            readonly instructed: boolean;
            readonly instructions: string | null;
            readonly instructions_ref: string | null;
            readonly secret_refs: readonly string[];
        };
        /**
         * @description The background that a person works on. Programs that nobody looks at yet are told it.
         * @enum {string}
         */
        readonly Shade: "light" | "dark";
        /** @description The background that the caller works on. */
        readonly ShadeBody: {
            readonly shade: components["schemas"]["Shade"];
        };
        /**
         * @description A link to make. Without `terminal_id` it opens every terminal of the sandbox; with
         *     `recording_id` one recording and no terminal.
         */
        readonly ShareBody: {
            readonly name?: string | null;
            readonly recording_id?: string | null;
            /** @default viewer */
            readonly role?: components["schemas"]["Role"];
            readonly terminal_id?: string | null;
            /**
             * @description Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.
             * @default 3600
             * @example 4h
             */
            readonly ttl?: number | string;
        };
        /** @description The valid links of a sandbox. */
        readonly ShareList: {
            readonly shares: readonly components["schemas"]["ShareView"][];
        };
        /**
         * @description A link. `guests` is how many came by it and may still be present, `guest_names` who they
         *     are.
         */
        readonly ShareView: {
            readonly created_at: string;
            readonly expires_at: string;
            readonly guest_names: readonly string[];
            readonly guests: number;
            readonly name: string;
            readonly recording_id: string | null;
            readonly role: components["schemas"]["Role"];
            readonly sandbox_id: string;
            readonly share_id: string;
            readonly terminal_id: string | null;
        };
        /**
         * @description A commit with its message, and what it changes of its first parent; `truncated` when some of
         *     that is missing.
         */
        readonly ShownCommitView: {
            readonly commit: components["schemas"]["CommitView"];
            readonly files: readonly components["schemas"]["FileDiff"][];
            readonly message: string;
            readonly truncated: boolean;
        };
        /**
         * @description The side of a diff: the file before the change, or after it.
         * @enum {string}
         */
        readonly Side: "old" | "new";
        /** @description A signal by name. */
        readonly SignalBody: {
            /** @enum {string} */
            readonly signal: "INT" | "QUIT" | "TERM" | "HUP" | "KILL" | "STOP" | "CONT" | "USR1" | "USR2";
        };
        /** @description A size in cells; clamped to 2…1000 × 1…500. */
        readonly SizeBody: {
            readonly cols: number;
            readonly rows: number;
        };
        /**
         * @description A snapshot to take; without `ttl` it is kept until it is removed. `memory` says whether what
         *     runs is to be kept, too: a backend that cannot refuses `required`.
         */
        readonly SnapshotBody: {
            /** @default auto */
            readonly memory?: components["schemas"]["MemoryMode"];
            /** @default filesystem */
            readonly mode?: components["schemas"]["SnapshotMode"];
            readonly name?: string | null;
            readonly ttl?: (number | string) | null;
        };
        /**
         * @description The part of a sandbox that a snapshot keeps: its files, or all that runs in it, too.
         * @enum {string}
         */
        readonly SnapshotMode: "filesystem" | "full";
        /** @description A page of snapshots, newest first. */
        readonly SnapshotPage: {
            readonly next: string | null;
            readonly snapshots: readonly components["schemas"]["SnapshotView"][];
        };
        /**
         * @description The promise of a backend about snapshots: the state that files of a running sandbox are kept
         *     in, whether what runs can be kept, whether the sandbox may run meanwhile, whether another host
         *     or backend can begin as one, whether a second one takes only what changed, and how many
         *     sandboxes begin as one at once.
         */
        readonly SnapshotPromiseView: {
            readonly cross_backend: boolean;
            readonly cross_host: boolean;
            readonly disk: components["schemas"]["DiskPromise"];
            readonly fork_max: number;
            readonly incremental: boolean;
            readonly memory: boolean;
            readonly running: boolean;
        };
        /**
         * @description The state of a snapshot.
         * @enum {string}
         */
        readonly SnapshotState: "making" | "ready" | "failed" | "removing";
        /**
         * @description The result of reading all that was stored for a snapshot: of `blobs`, so many are `damaged`,
         *     missing or changed. With one of them it does not come back.
         */
        readonly SnapshotVerification: {
            readonly blobs: number;
            readonly damaged: number;
            readonly snapshot_id: string;
            readonly whole: boolean;
        };
        /**
         * @description A snapshot: whose disk it is, and in which state the files are. `size` is the bytes that they
         *     take, `still_ms` the time for which whoever wrote inside waited. `automatic`: the profile had it
         *     taken, after the end of `turn` where that is one. `agent` is the one whose conversation is in
         *     it. `exported`: its disk is among the contents, too, from where another machine can bring it
         *     back.
         */
        readonly SnapshotView: {
            readonly agent: string | null;
            readonly automatic: boolean;
            readonly branches: readonly string[];
            readonly created_at: string;
            readonly disk: components["schemas"]["DiskPromise"];
            readonly expires_at: string | null;
            readonly exported: boolean;
            readonly extension: string;
            readonly host: string;
            readonly name: string;
            readonly owner: string;
            readonly sandbox_id: string;
            readonly sandbox_name: string;
            readonly size: number;
            readonly snapshot_id: string;
            readonly state: components["schemas"]["SnapshotState"];
            readonly still_ms: number;
            readonly turn: components["schemas"]["AgentTurnView"] | null;
        };
        /**
         * @description The columns that the list is sorted by. `tokens` and `traffic` are sums of both ways.
         * @enum {string}
         */
        readonly SortKey: "name" | "state" | "owner" | "created" | "tokens" | "traffic";
        /** @description The public key to certify, a line of OpenSSH, and for how long: 5 minutes to 8 hours. */
        readonly SshCertificateBody: {
            readonly public_key: string;
            /**
             * @description Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.
             * @default 3600
             * @example 4h
             */
            readonly ttl?: number | string;
        };
        /**
         * @description A certificate: a line for a file `-cert.pub`. It opens one sandbox, in a role at its
         *     terminals, and ends no later than the link or the token by which it was made.
         */
        readonly SshCertificateView: {
            readonly certificate: string;
            readonly expires_at: string;
            readonly fingerprint: string;
            readonly role: components["schemas"]["Role"];
            readonly sandbox_id: string;
            readonly serial: string;
        };
        /**
         * @description A public key as OpenSSH writes it, one line of a file `.pub`; without a `name` it has that of
         *     its comment.
         */
        readonly SshKeyBody: {
            readonly key: string;
            /** @default  */
            readonly name?: string;
        };
        /** @description The caller's keys. */
        readonly SshKeyList: {
            readonly keys: readonly components["schemas"]["SshKeyView"][];
        };
        /**
         * @description A key. `fingerprint` is what `ssh-keygen -l` prints; `used_at` is null until the first
         *     login.
         */
        readonly SshKeyView: {
            readonly added_at: string;
            readonly fingerprint: string;
            readonly key_id: string;
            readonly kind: string;
            readonly name: string;
            readonly used_at: string | null;
        };
        /**
         * @description The SSH gateway's address for a sandbox, the user to log in as there, the command that does
         *     so, and the fingerprint of the gateway's key.
         */
        readonly SshReachView: {
            readonly command: string;
            readonly fingerprint: string;
            readonly host: string;
            readonly port: number;
            readonly user: string;
        };
        /**
         * @description The gateway. `address` is `host:port`, null where it listens at none: then only `atoll ssh`
         *     reaches it. The keys are lines of OpenSSH. Who trusts `host_authority` for the name `alias`
         *     knows the gateway; `user_authority` signs the certificates of users.
         */
        readonly SshView: {
            readonly address: string | null;
            readonly alias: string;
            readonly host_authority: string;
            readonly host_fingerprint: string;
            readonly host_key: string;
            readonly user_authority: string;
        };
        /**
         * @description The numbers of now, or the highest of a time: of running sandboxes, agents in them, those at
         *     work, and open terminals and machine agents.
         */
        readonly StandingView: {
            readonly agents: number;
            readonly sandboxes: number;
            readonly sessions: number;
            readonly working: number;
        };
        /**
         * @description The state of a sandbox. `ready`: its runtime answered; `active`: something ran in it.
         * @enum {string}
         */
        readonly State: "requested" | "provisioning" | "ready" | "active" | "stopped" | "expired" | "failed" | "destroying" | "destroyed";
        /** @description A possible answer. */
        readonly StatusOptionView: {
            readonly effect: string;
            readonly id: string;
            readonly label: string;
        };
        /**
         * @description Status of an agent. `since` is when that began; `on` is the last tool or sentence. Where it
         *     needs its person, `question` is on the card `card`, and `answer` says how to answer: by the
         *     agent's `protocol` (with one of `options`, or in words where `words` is true), or at its
         *     `terminal`. `commits`, `plus` and `minus` are null where they are not known.
         */
        readonly StatusView: {
            /** @enum {string} */
            readonly answer: "" | "protocol" | "terminal";
            readonly card: string;
            readonly commits: number | null;
            readonly minus: number | null;
            readonly on: string;
            readonly options: readonly components["schemas"]["StatusOptionView"][];
            readonly plus: number | null;
            readonly question: string;
            readonly reason: string;
            readonly since: string;
            /** @enum {string} */
            readonly status: "working" | "needs_you" | "done" | "idle" | "stopped" | "failed";
            readonly turns: number;
            readonly words: boolean;
        };
        /** @description A sandbox that stays, and why. */
        readonly StayingView: {
            readonly name: string;
            readonly reason: string;
            readonly sandbox_id: string;
        };
        /** @description Why a worker is stopped, where somebody says. */
        readonly StopWorkerBody: {
            readonly reason?: string | null;
        };
        /**
         * @description An order of candidates; ties go by declared order, then `ext.namespaces` comes first, then
         *     by name.
         *
         *     `desktop_preferred`: the person's own machine, while it is linked, then as
         *     `prefer-self-hosted`: our own machines first. `lowest-cost`: by declared price.
         *     `lowest-latency`: by the measured median until ready. `explicit`: the one that is named, and
         *     never another.
         * @enum {string}
         */
        readonly Strategy: "desktop_preferred" | "prefer-self-hosted" | "lowest-cost" | "lowest-latency" | "explicit";
        /** @description At most 1,000 of `count` strays; `problems` says which vendors could not be asked. */
        readonly StrayList: {
            readonly count: number;
            readonly problems: readonly string[];
            readonly strays: readonly components["schemas"]["StrayView"][];
        };
        /** @description A machine of a vendor whose sandbox is gone, and when the vendor ends it by itself. */
        readonly StrayView: {
            readonly ends_at: string;
            readonly extension: string;
            readonly machine: string;
            readonly sandbox_id: string;
        };
        /**
         * @description The people whom the lock stops while the agent works: everybody but the owner, or
         *     everybody.
         * @enum {string}
         */
        readonly Strictness: "owner" | "strict";
        /**
         * @description The subject of a request: a secret to a host, a host alone, a command, or a tool with its
         *     arguments as JSON.
         */
        readonly SubjectView: {
            readonly arguments?: string | null;
            readonly argv?: readonly string[] | null;
            readonly cwd?: string | null;
            readonly host?: string | null;
            readonly port?: number | null;
            readonly secret?: string | null;
            readonly secret_id?: string | null;
            readonly tool?: string | null;
            readonly version?: number | null;
        };
        /**
         * @description A token that reads these streams (`sandbox:ID`, `auth`, …, or `*` for all of the caller's)
         *     and read models (`agents`), and does nothing else.
         */
        readonly SubscriptionBody: {
            /** @default [] */
            readonly models?: readonly string[];
            /** @default [] */
            readonly streams?: readonly string[];
            /**
             * @description Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.
             * @default 900
             * @example 4h
             */
            readonly ttl?: number | string;
        };
        /**
         * @description `in_sync`: it has the newest event of the stream. `lagging`: it does not yet.
         * @enum {string}
         */
        readonly SummaryStatus: "in_sync" | "lagging";
        /**
         * @description Acts of a sync: rebase, give up a rebase that stopped, or look whether one stopped.
         * @enum {string}
         */
        readonly SyncAct: "rebase" | "abort" | "look";
        /**
         * @description The branch to rebase onto (by default the one the sandbox's branch began from). `abort` gives
         *     up a rebase that stopped, `look` changes nothing. With `agent`, the sandbox's agent is prompted
         *     to resolve a conflict. While an agent works, only `now` syncs.
         */
        readonly SyncBody: {
            /** @default rebase */
            readonly act?: components["schemas"]["SyncAct"];
            /** @default false */
            readonly agent?: boolean;
            /** @default false */
            readonly now?: boolean;
            readonly onto?: string | null;
            /** @default 0 */
            readonly repo?: number;
        };
        /**
         * @description Outcomes of a sync. After `conflict` a rebase waits inside; `current` had nothing to bring,
         *     `clean` nothing to give up.
         * @enum {string}
         */
        readonly SyncOutcome: "updated" | "current" | "conflict" | "aborted" | "clean";
        /**
         * @description The result: HEAD is at `commit` after `commits` newer ones. `files` are in conflict; `more`
         *     counts those left out. With `stashed`, uncommitted changes did not fit and are in a stash.
         */
        readonly SyncView: {
            readonly agent: string | null;
            readonly commit: string;
            readonly commits: number;
            readonly files: readonly string[];
            readonly more: number;
            readonly onto: string;
            readonly outcome: components["schemas"]["SyncOutcome"];
            readonly stashed: boolean;
        };
        /** @description The checkout that waits: its key as an upload, and its origin as https. */
        readonly TakeBody: {
            readonly key: string;
            /** @default  */
            readonly repo_url?: string;
        };
        /**
         * @description The thread that a person takes; without one it is the newest. `desktop` is the linked machine
         *     that they sit at, which alone reaches the terminal of a worker there.
         */
        readonly TakeWorkerBody: {
            readonly desktop?: string | null;
            readonly thread_id?: string | null;
        };
        /**
         * @description The outcome of a report: the kind of its event, null where it tells of none; `repeated` where
         *     it was taken before.
         */
        readonly TakenView: {
            readonly event_type: string | null;
            readonly repeated: boolean;
        };
        /**
         * @description The way in which the agent takes the prompt: at a terminal, or as a machine that may ask;
         *     left out, at a terminal where the agent has that mode.
         *
         *     `group` names the sandboxes that received the same prompt. It is queued while `max_working`
         *     tasks of the caller are at work; left out, the setting counts. `issue` is the address of the
         *     issue or pull request it began with, which its own pull request answers.
         */
        readonly TaskBody: {
            readonly group?: string | null;
            readonly issue?: string | null;
            readonly max_working?: number | null;
            /** @default tui */
            readonly mode?: components["schemas"]["AgentMode"];
            /**
             * @default allow
             * @enum {string}
             */
            readonly permissions?: "allow" | "ask";
        };
        /**
         * @description The state of a task. `queued`: as many work as their person wants; `waiting`: the sandbox is
         *     not ready, or its set-up has not succeeded; `given`: its agent has the words; `failed`: the
         *     agent could not be started.
         * @enum {string}
         */
        readonly TaskState: "queued" | "waiting" | "given" | "failed";
        /**
         * @description The task of the agent. `group` names the sandboxes that received the same prompt, `reason`
         *     says why it failed, `before` how many queued tasks come before it. `issue` is the address of the
         *     issue or pull request it began with.
         */
        readonly TaskView: {
            readonly before: number;
            readonly group: string | null;
            readonly issue: string | null;
            readonly max_working: number | null;
            readonly mode: components["schemas"]["AgentMode"];
            /** @enum {string} */
            readonly permissions: "allow" | "ask";
            readonly prompt: string;
            readonly reason: string | null;
            readonly state: components["schemas"]["TaskState"];
        };
        /** @description The living tokens of an organization, the first to end first. */
        readonly TeamTokenList: {
            readonly next: string | null;
            readonly tokens: readonly components["schemas"]["TeamTokenView"][];
        };
        /**
         * @description A token of a member or a service account, `owner`. `used_at` is its last use, by the
         *     minute.
         */
        readonly TeamTokenView: {
            readonly capabilities: readonly string[];
            readonly created_at: string;
            readonly expires_at: string;
            readonly id: string;
            readonly name: string;
            readonly owner: string;
            readonly sandbox_id: string | null;
            readonly used_at: string | null;
        };
        /** @description The fate of a stopped worker's sandbox; `retain_for` is a duration. */
        readonly TeardownBody: {
            /** @default retain */
            readonly policy?: components["schemas"]["TeardownPolicy"];
            readonly retain_for?: (number | string) | null;
        };
        /**
         * @description The fate of a stopped worker's sandbox.
         * @enum {string}
         */
        readonly TeardownPolicy: "immediate" | "retain";
        /**
         * @description A terminal to open; without `agent` and `argv` it is the profile's shell. `softlock` is an
         *     agent's.
         */
        readonly TerminalBody: {
            readonly agent?: string | null;
            readonly argv?: readonly string[] | null;
            readonly cols?: number | null;
            readonly cwd?: string | null;
            readonly env?: {
                readonly [key: string]: string;
            } | null;
            readonly name?: string | null;
            readonly ring_bytes?: number | null;
            readonly rows?: number | null;
            readonly softlock?: components["schemas"]["Strictness"] | null;
        };
        /**
         * @description Changes of a terminal: another name (1 to 128 printable characters), or whether its size is
         *     fixed, at `cols` × `rows` or as it is now.
         */
        readonly TerminalChangeBody: {
            readonly cols?: number | null;
            readonly fixed?: boolean | null;
            readonly name?: string | null;
            readonly rows?: number | null;
        };
        /** @description The sandbox's terminals. */
        readonly TerminalList: {
            readonly terminals: readonly components["schemas"]["TerminalView"][];
        };
        /**
         * @description A terminal. `offset` is the end of its output so far, `ring_start` the oldest byte that
         *     can be replayed; `recording` whether what it shows is being kept,
         *     `renamed` whether a person gave it its name, `fixed` whether its size follows no driver.
         */
        readonly TerminalView: {
            readonly argv: readonly string[];
            readonly cols: number;
            readonly cwd: string;
            readonly driver: string | null;
            readonly exit: components["schemas"]["End"] | null;
            readonly fixed: boolean;
            readonly name: string;
            readonly offset: number;
            readonly recording: boolean;
            readonly renamed: boolean;
            readonly ring_start: number;
            readonly rows: number;
            readonly started_at: string;
            /** @enum {string} */
            readonly state: "running" | "exited";
            readonly terminal_id: string;
            readonly title: string;
            readonly viewers: number;
        };
        /**
         * @description A terminal's output as plain text. `from…to` are its offsets; `cut`: the beginning is
         *     lost.
         */
        readonly Text: {
            readonly cut: boolean;
            readonly from: number;
            readonly text: string;
            readonly to: number;
        };
        /**
         * @description A thread to open with its first remark. It is about the `lines` from number `line` on, on one
         *     side of the diff of a file; without lines (and `line` 0) about the whole file, and without
         *     `path` about the whole change.
         */
        readonly ThreadBody: {
            /** @default 0 */
            readonly line?: number;
            /** @default [] */
            readonly lines?: readonly string[];
            /** @default  */
            readonly path?: string;
            /** @default 0 */
            readonly repo?: number;
            /** @default new */
            readonly side?: components["schemas"]["Side"];
            readonly text: string;
        };
        /** @description A change of a thread. */
        readonly ThreadChangeBody: {
            readonly resolved: boolean;
        };
        /**
         * @description The place of a thread now: the number of its first line on its side, 0 where it is about the
         *     whole file, null where its lines are gone.
         */
        readonly ThreadPlace: {
            readonly line: number | null;
            readonly thread_id: string;
        };
        /** @description The places of the threads of a file. */
        readonly ThreadPlaces: {
            readonly places: readonly components["schemas"]["ThreadPlace"][];
        };
        /** @description The last sending of a thread, to the agent of this id. */
        readonly ThreadSendingView: {
            readonly agent: string;
            readonly agent_id: string;
            readonly at: string;
            readonly by: string;
            readonly by_name: string | null;
        };
        /** @description The ticket of a login link. */
        readonly TicketBody: {
            readonly ticket: string;
        };
        /**
         * @description A new login link, valid once within `expires_in` seconds. `outside_url` is the same link for
         *     another machine, None where none reaches the server.
         */
        readonly TicketView: {
            readonly expires_in: number;
            readonly outside_url: string | null;
            readonly ticket: string;
            readonly url: string;
        };
        /**
         * @description An exchange for a signed token, which lives at most 15 minutes. `audience` names a service
         *     that verifies it by the key set; without one it is for this API.
         */
        readonly TokenBody: {
            /** @default atoll */
            readonly audience?: string;
            readonly capabilities?: readonly string[] | null;
            /**
             * @description Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.
             * @default 900
             * @example 4h
             */
            readonly ttl?: number | string;
        };
        /** @description The caller's living tokens, oldest first. */
        readonly TokenList: {
            readonly tokens: readonly components["schemas"]["TokenView"][];
        };
        /**
         * @description A personal access token. `used_at` is its last use, by the minute; `parent` the token that it
         *     was made with.
         */
        readonly TokenView: {
            readonly capabilities: readonly string[];
            readonly created_at: string;
            readonly expires_at: string;
            readonly id: string;
            readonly name: string;
            readonly parent: string | null;
            readonly sandbox_id: string | null;
            readonly used_at: string | null;
        };
        /**
         * @description The reason why agents inside do not have a tool.
         * @enum {string}
         */
        readonly ToolMissing: "not_inside" | "not_configured" | "tools_off" | "denied_by_profile" | "not_in_profile" | "no_permission";
        /**
         * @description The answer to a call of a tool by an agent inside.
         * @enum {string}
         */
        readonly ToolRule: "allow" | "ask" | "deny";
        /**
         * @description Changes of a repository: the first files of `total`. `commits` counts what HEAD has beyond
         *     `base`.
         */
        readonly TreeChangesView: {
            readonly additions: number;
            readonly base: string | null;
            readonly branch: string | null;
            readonly commits: number;
            readonly deletions: number;
            readonly digest: string;
            readonly files: readonly components["schemas"]["ChangedFile"][];
            readonly head: string | null;
            readonly total: number;
        };
        /** @description The fingerprint of the shown key that is to be pinned. Without one nothing changes. */
        readonly TrustBody: {
            readonly fingerprint?: string | null;
        };
        /** @description The counts of an unpacked archive. */
        readonly Unpacked: {
            readonly bytes: number;
            readonly files: number;
        };
        /**
         * @description Unpulled work of repository number `repo`, or with `repo` None the files beside all of them.
         *
         *     `tip` is the newest of `commits` new commits, `subject` its first line; `more` counts the files
         *     that `changed` and `untracked` leave out.
         */
        readonly UnpulledPlace: {
            readonly branch: string | null;
            readonly changed: readonly string[];
            readonly commits: number;
            readonly more: number;
            readonly path: string;
            readonly repo: number | null;
            readonly stashes: number;
            readonly subject: string;
            readonly tip: string | null;
            readonly untracked: readonly string[];
        };
        /**
         * @description Every place with such work; none when nothing would be lost. `pushes` are branches that were
         *     pushed inside and are held on the server; they stay there for their time.
         */
        readonly UnpulledView: {
            readonly places: readonly components["schemas"]["UnpulledPlace"][];
            readonly pushes: readonly components["schemas"]["PushView"][];
        };
        /** @description The files of a form, in its order. */
        readonly Uploaded: {
            readonly entries: readonly components["schemas"]["FileEntry"][];
        };
        /**
         * @description The usage from `at` on, for the width of a bucket. `standing` is null where no control plane
         *     was at work.
         */
        readonly UsagePointView: {
            readonly at: string;
            readonly counts: components["schemas"]["DoorCountsView"];
            readonly standing: components["schemas"]["StandingView"] | null;
        };
        /**
         * @description A series without holes, oldest first, with the highest standing and the sums of it all, and
         *     what there is now.
         */
        readonly UsageView: {
            readonly begin: string;
            readonly bucket_seconds: number;
            readonly counts: components["schemas"]["DoorCountsView"];
            readonly end: string;
            readonly highest: components["schemas"]["StandingView"];
            readonly now: components["schemas"]["StandingView"];
            readonly points: readonly components["schemas"]["UsagePointView"][];
        };
        /** @description A value, in the only direction it may go. */
        readonly ValueBody: {
            readonly value: string;
        };
        /** @description A command line that waits: where it runs, and until when. */
        readonly WaitingCliLoginView: {
            readonly address: string;
            readonly code: string;
            readonly expires_at: string;
            readonly machine: string;
        };
        /** @description The dashboards that wait for a new owner, oldest first. */
        readonly WaitingDashboardList: {
            readonly dashboards: readonly components["schemas"]["WaitingDashboardView"][];
            readonly next: string | null;
        };
        /**
         * @description A dashboard whose owner is gone: its name and size, nothing of what is on it. It is removed
         *     at `removed_at`, null before that is known.
         */
        readonly WaitingDashboardView: {
            readonly id: string;
            readonly items: number;
            readonly name: string;
            readonly owner: string;
            readonly removed_at: string | null;
            readonly updated_at: string;
        };
        /** @description The sandboxes that wait for a new owner. */
        readonly WaitingSandboxList: {
            readonly next: string | null;
            readonly sandboxes: readonly components["schemas"]["WaitingSandboxView"][];
        };
        /** @description A sandbox whose owner is gone. `GET /v1/sandboxes/{sandbox}` shows it whole. */
        readonly WaitingSandboxView: {
            readonly expires_at: string;
            readonly name: string;
            readonly owner: string;
            readonly retained_until: string | null;
            readonly sandbox_id: string;
            readonly state: components["schemas"]["State"];
        };
        /**
         * @description The uses that wake a sleeping sandbox: every `access`, those of a `person` alone, or `never`
         *     any but a start.
         * @enum {string}
         */
        readonly WakePolicy: "access" | "person" | "never";
        /** @description The wall of a desktop's workers: `degraded` says what it lacks. */
        readonly WallBody: {
            /** @default [] */
            readonly degraded?: readonly string[];
            readonly level: components["schemas"]["IsolationLevel"];
            readonly mechanism: string;
        };
        /**
         * @description An endpoint, and the events it receives. Empty lists mean all of them. With the scope
         *     `organization` it receives what the whole team may see, and only administrators make it.
         */
        readonly WebhookBody: {
            /**
             * @description Kinds of events, or all of a noun as `sandbox.*`.
             * @default []
             */
            readonly event_types?: readonly string[];
            /** @default own */
            readonly scope?: components["schemas"]["WebhookScope"];
            /**
             * @description Names of streams, or all as `sandbox:*`.
             * @default []
             */
            readonly streams?: readonly string[];
            readonly url: string;
        };
        /** @description A change; what is left out stays. `enabled` turns a webhook off, or on where it stopped. */
        readonly WebhookChangeBody: {
            readonly enabled?: boolean | null;
            readonly event_types?: readonly string[] | null;
            readonly streams?: readonly string[] | null;
            readonly url?: string | null;
        };
        /** @description The caller's webhooks, oldest first. */
        readonly WebhookList: {
            readonly webhooks: readonly components["schemas"]["WebhookView"][];
        };
        /**
         * @description Events that a webhook reads: those that its owner may see, or those of the organization
         *     itself and of the sandboxes that are shared in it.
         * @enum {string}
         */
        readonly WebhookScope: "own" | "organization";
        /**
         * @description A webhook. `cursor` is the position up to which every event was delivered or has a delivery;
         *     `retrying`, `replaying` and `dead` count these. `reason` says why Atoll disabled it. `failure`
         *     and `failed_at` are of the last failure, `failing_since` is null while deliveries succeed.
         *     `sandbox_id` is that of a lifecycle webhook, which the create of that sandbox named.
         */
        readonly WebhookView: {
            readonly created_at: string;
            readonly cursor: number;
            readonly dead: number;
            readonly delivered_at: string | null;
            readonly enabled: boolean;
            readonly event_types: readonly string[];
            readonly failed_at: string | null;
            readonly failing_since: string | null;
            readonly failure: string | null;
            readonly reason: string | null;
            readonly replaying: number;
            readonly retrying: number;
            readonly sandbox_id: string | null;
            readonly scope: components["schemas"]["WebhookScope"];
            readonly secret_version: number;
            readonly streams: readonly string[];
            readonly url: string;
            readonly webhook_id: string;
        };
        /** @description A value of the network that is not in force: it is beyond a bound, and `whose` that is. */
        readonly WithheldView: {
            readonly field: string;
            readonly text: string;
            readonly whose: string;
        };
        /**
         * @description The state of the work in a sandbox, which is shown before the sandbox's own.
         *
         *     `queued`: it has not begun. `needs_you`: an agent asks, or could not go on. `to_review`: a turn
         *     ended, and nobody has reviewed its result. `in_conflict`: a rebase or merge stopped. `reviewed`,
         *     `merged`, `pr_open` and `pr_merged` last until the work changes. `archived`: it is put away.
         * @enum {string}
         */
        readonly WorkState: "queued" | "working" | "needs_you" | "to_review" | "in_conflict" | "reviewed" | "merged" | "pr_open" | "pr_merged" | "archived";
        /**
         * @description The work in a sandbox; null where there is none.
         *
         *     `state` is shown before the sandbox's own. `mark` names the change itself: it stays the same
         *     when that is committed or rebased. Commits, lines and files are counted in the working trees as
         *     they are now. `conflict` waits; `merge` and `pull` are the newest.
         */
        readonly WorkView: {
            readonly commits: number;
            readonly conflict: components["schemas"]["ConflictView"] | null;
            readonly mark: string;
            readonly merge: components["schemas"]["MergeView"] | null;
            readonly minus: number;
            readonly plus: number;
            readonly pull: components["schemas"]["PullMarkView"] | null;
            readonly reviewed_at: string | null;
            readonly state: components["schemas"]["WorkState"];
            readonly uncommitted: number;
        };
        /** @description A file that an execution made: its media type, its bytes, and its SHA-256 in hexadecimal. */
        readonly WorkerArtifactView: {
            readonly name: string;
            readonly sha256: string;
            readonly size: number;
            readonly type: string;
        };
        /** @description A start at a place that failed. */
        readonly WorkerAttemptView: {
            readonly at: string;
            readonly placement: components["schemas"]["WorkerPlaceView"];
            readonly reason: string;
        };
        /**
         * @description A worker to create, or to reattach by its `worker_id`. Without `backend` the policy chooses
         *     one, within `selection`. References are names such as `sandbox:<id>/workspace`.
         */
        readonly WorkerBody: {
            /** @default codex */
            readonly agent?: string;
            readonly backend?: string | null;
            readonly codex_home_ref?: string | null;
            readonly execution_mode?: components["schemas"]["ExecutionMode"] | null;
            readonly metadata?: {
                readonly [key: string]: string;
            };
            /** @default allow */
            readonly permissions?: components["schemas"]["Permissions"];
            readonly profile?: string | null;
            /** @default [] */
            readonly repos?: readonly components["schemas"]["RepoBody"][];
            /**
             * @default {
             *       "accept_open_network": false,
             *       "allow": []
             *     }
             */
            readonly selection?: components["schemas"]["SelectionBody"];
            /**
             * @default {
             *       "policy": "retain"
             *     }
             */
            readonly teardown?: components["schemas"]["TeardownBody"];
            readonly thread_id?: string | null;
            readonly worker_id: string;
            readonly workspace_ref?: string | null;
        };
        /** @description A candidate of a decision, and why it could not take the worker. */
        readonly WorkerCandidateView: {
            readonly execution_mode: components["schemas"]["ExecutionMode"];
            readonly fit: boolean;
            readonly placement: components["schemas"]["WorkerPlaceView"];
            readonly reasons: readonly string[];
        };
        /** @description A price of an hour: a decimal number as text, and its currency (ISO 4217). */
        readonly WorkerCostBody: {
            readonly amount: string;
            readonly currency: string;
        };
        /**
         * @description A worker that was created, or that was there. `events_kept_for` is how long what its agent
         *     says is kept, a duration; null is for good.
         */
        readonly WorkerCreatedView: {
            readonly events_kept_for: string | null;
            readonly reattached: boolean;
            readonly worker: components["schemas"]["WorkerView"];
        };
        /**
         * @description A deletion of what an agent said: how many events were removed, and the number after which
         *     they begin now.
         */
        readonly WorkerErasedView: {
            readonly removed: number;
            readonly resume_after: number;
        };
        /** @description Why a request has no result. `data` is the agent's own error, as JSON text. */
        readonly WorkerErrorView: {
            readonly code: components["schemas"]["ErrorCode"];
            readonly data: string | null;
            readonly message: string;
            readonly retryable: boolean;
        };
        /** @description The places and numbers that a stopped worker left. */
        readonly WorkerMarkersView: {
            readonly bundle_ref: string | null;
            readonly codex_home_ref: string | null;
            readonly last_seq: number;
            readonly thread_ids: readonly string[];
            readonly workspace_ref: string | null;
        };
        /** @description A page of workers, newest first. */
        readonly WorkerPage: {
            readonly next: string | null;
            readonly workers: readonly components["schemas"]["WorkerView"][];
        };
        /** @description Requests without a receipt, and questions without an answer. */
        readonly WorkerPendingView: {
            readonly request_ids: readonly string[];
            readonly server_requests: readonly components["schemas"]["ServerRequestView"][];
        };
        /**
         * @description A place that a sandbox can be at. `backend` is a word for `extension`, and `extension` for
         *     one of somebody else's. `host` is empty on a vendor's machines.
         */
        readonly WorkerPlaceView: {
            readonly backend: string;
            readonly extension: string;
            readonly host: string;
            readonly region: string;
        };
        /** @description The receipt of a request, with one of `response` and `error`; with neither it is pending. */
        readonly WorkerReceiptView: {
            readonly error?: components["schemas"]["WorkerErrorView"] | null;
            readonly request_id: string;
            readonly response?: components["schemas"]["WorkerResultView"] | null;
            readonly worker_id: string;
        };
        /** @description The teardown of a worker: what was removed, and what could not be, with why. */
        readonly WorkerRemovalView: {
            readonly leftovers: readonly string[];
            readonly removed: readonly string[];
        };
        /** @description A repository of a worker, as it was requested. */
        readonly WorkerRepoView: {
            readonly branch: string | null;
            readonly from_branch: string | null;
            readonly key: string | null;
            readonly path: string | null;
            readonly repo_url: string | null;
            readonly sparse: readonly string[];
        };
        /** @description A request, and how long to wait for its receipt. */
        readonly WorkerRequestBody: {
            readonly request: components["schemas"]["WorkerRequestFields"];
            /** @default 0 */
            readonly wait_ms?: number;
        };
        /** @description A request in the agent's own protocol. */
        readonly WorkerRequestFields: {
            readonly method: string;
            readonly params?: {
                readonly [key: string]: unknown;
            };
            readonly request_id: string;
        };
        /** @description An answer of the agent: its own JSON, as text. */
        readonly WorkerResultView: {
            readonly result: string;
        };
        /** @description The stored decision of a worker's route. */
        readonly WorkerRouteView: {
            readonly at: string;
            readonly attempts: readonly components["schemas"]["WorkerAttemptView"][];
            readonly candidates: readonly components["schemas"]["WorkerCandidateView"][];
            readonly chosen: components["schemas"]["WorkerPlaceView"] | null;
            readonly route_id: string;
            readonly strategy: components["schemas"]["Strategy"];
        };
        /** @description The sandbox of a worker. `isolation` is null before it was ready. */
        readonly WorkerSandboxView: {
            readonly host: string | null;
            readonly id: string;
            readonly isolation: components["schemas"]["IsolationView"] | null;
            readonly region: string | null;
        };
        /**
         * @description The state of a worker, as everybody sees it.
         * @enum {string}
         */
        readonly WorkerStatus: "starting" | "running" | "stopping" | "stopped" | "failed";
        /** @description A worker that stops; `markers` is null until it has. */
        readonly WorkerStopView: {
            readonly markers: components["schemas"]["WorkerMarkersView"] | null;
            readonly status: components["schemas"]["WorkerStatus"];
            readonly worker_id: string;
        };
        /** @description A page of summaries, of the newest worker first. */
        readonly WorkerSummaryPage: {
            readonly next: string | null;
            readonly worker_summaries: readonly components["schemas"]["WorkerSummaryView"][];
        };
        /**
         * @description The summary of a worker has the events of its stream up to `last_seq`. It is `in_sync` with
         *     the stream, or `lag_events` are not in it yet.
         */
        readonly WorkerSummaryView: {
            readonly lag_events: number;
            readonly last_seq: number;
            readonly status: components["schemas"]["SummaryStatus"];
            readonly worker_id: string;
        };
        /**
         * @description The terminal where a person has a worker's conversation; `desktop` is the machine that it is
         *     on, null where it is in a sandbox.
         */
        readonly WorkerTakenView: {
            readonly desktop: string | null;
            readonly sandbox_id: string;
            readonly terminal_id: string;
            readonly thread_id: string;
            readonly worker_id: string;
        };
        /** @description The fate of a stopped worker's sandbox; `retain_for` is a duration. */
        readonly WorkerTeardownView: {
            readonly policy: components["schemas"]["TeardownPolicy"];
            readonly retain_for: string;
        };
        /** @description A conversation of a worker. `turn_id` is the turn that runs, null while none does. */
        readonly WorkerThreadView: {
            readonly thread_id: string;
            readonly title: string | null;
            readonly turn_id: string | null;
        };
        /**
         * @description The usage of a worker's sandbox, as its broker counts it: calls of models that passed, and
         *     their tokens. `cached_tokens` are among `input_tokens`.
         */
        readonly WorkerUsageView: {
            readonly cached_tokens: number;
            readonly input_tokens: number;
            readonly output_tokens: number;
            readonly requests: number;
        };
        /**
         * @description A snapshot of a worker. `remove_at` is when the sandbox of a stopped one is removed;
         *     `torn_down` is null until it was.
         */
        readonly WorkerView: {
            readonly agent: string;
            readonly artifacts: readonly components["schemas"]["WorkerArtifactView"][];
            readonly backend: string | null;
            readonly codex_home_ref: string | null;
            readonly created_at: string;
            readonly execution_mode: components["schemas"]["ExecutionMode"] | null;
            readonly extension: string | null;
            readonly heartbeat_age_ms: number;
            readonly heartbeat_stale_after_ms: number;
            readonly heartbeat_state: components["schemas"]["HeartbeatState"];
            readonly held_by_person: boolean;
            readonly latest_seq: number;
            readonly metadata: {
                readonly [key: string]: string;
            };
            readonly pending: components["schemas"]["WorkerPendingView"];
            readonly permissions: components["schemas"]["Permissions"];
            readonly profile: string | null;
            readonly reason: string | null;
            readonly remove_at: string | null;
            readonly repos: readonly components["schemas"]["WorkerRepoView"][];
            readonly route: components["schemas"]["WorkerRouteView"] | null;
            readonly sandbox: components["schemas"]["WorkerSandboxView"] | null;
            readonly status: components["schemas"]["WorkerStatus"];
            readonly teardown: components["schemas"]["WorkerTeardownView"];
            readonly thread_id: string | null;
            readonly threads: readonly components["schemas"]["WorkerThreadView"][];
            readonly torn_down: components["schemas"]["WorkerRemovalView"] | null;
            readonly usage: components["schemas"]["WorkerUsageView"];
            readonly worker_id: string;
            readonly workspace_ref: string | null;
        };
        /** @description The workspace's mode and access; what is left out takes the profile's value. */
        readonly WorkspaceBody: {
            readonly access?: components["schemas"]["Access"] | null;
            readonly mode?: components["schemas"]["WorkspaceMode"] | null;
        };
        /**
         * @description The authoritative copy of a workspace: the caller's (`mirror`) or the sandbox's
         *     (`remote-canonical`).
         * @enum {string}
         */
        readonly WorkspaceMode: "mirror" | "remote-canonical";
        /** @description The workspace's mode, and the sandbox's access to it. */
        readonly WorkspaceView: {
            readonly access: components["schemas"]["Access"];
            readonly mode: components["schemas"]["WorkspaceMode"];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
