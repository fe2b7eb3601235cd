CREATE TABLE agent_logins (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    created_us BIGINT NOT NULL, due_us BIGINT, body TEXT NOT NULL, PRIMARY KEY (id));
CREATE INDEX agent_logins_due ON agent_logins (due_us);
CREATE INDEX agent_logins_owner ON agent_logins (org_id, owner);
CREATE TABLE approvals (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    sandbox_id TEXT NOT NULL, secret_id TEXT NOT NULL, verdict TEXT NOT NULL,
    asked_us BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id));
CREATE INDEX approvals_by_age ON approvals (org_id, owner, asked_us, id);
CREATE INDEX approvals_by_verdict ON approvals (org_id, verdict);
CREATE TABLE audit_checkpoints (org_id TEXT NOT NULL, n BIGINT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (org_id));
CREATE TABLE audit_entries (org_id TEXT NOT NULL, n BIGINT NOT NULL, at_us BIGINT NOT NULL,
    hash TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (org_id, n));
CREATE INDEX audit_entries_by_age ON audit_entries (at_us);
CREATE TABLE cli_logins (mark TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    code TEXT NOT NULL, expires_us BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (mark),
    UNIQUE (code));
CREATE INDEX cli_logins_by_end ON cli_logins (expires_us);
CREATE TABLE dashboard_authors (dashboard_id TEXT NOT NULL, org_id TEXT NOT NULL,
    owner TEXT NOT NULL, client BIGINT NOT NULL, PRIMARY KEY (dashboard_id, client));
CREATE TABLE dashboard_comments (id TEXT NOT NULL, dashboard_id TEXT NOT NULL,
    org_id TEXT NOT NULL, owner TEXT NOT NULL, at_us BIGINT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (id));
CREATE INDEX dashboard_comments_by_age ON dashboard_comments (dashboard_id, at_us, id);
CREATE TABLE dashboard_history (dashboard_id TEXT NOT NULL, org_id TEXT NOT NULL,
    owner TEXT NOT NULL, seq BIGINT NOT NULL, body TEXT NOT NULL, bytes BIGINT NOT NULL,
    updates {bytes} NOT NULL, whole {bytes}, PRIMARY KEY (dashboard_id, seq));
CREATE TABLE dashboard_mentions (id TEXT NOT NULL, dashboard_id TEXT NOT NULL,
    org_id TEXT NOT NULL, owner TEXT NOT NULL, item_id TEXT NOT NULL, comment_id TEXT,
    kind TEXT NOT NULL, dismissed BIGINT NOT NULL, at_us BIGINT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (id));
CREATE INDEX dashboard_mentions_by_item ON dashboard_mentions (dashboard_id, item_id);
CREATE INDEX dashboard_mentions_by_person ON dashboard_mentions (org_id, owner, at_us, id);
CREATE TABLE dashboard_people (dashboard_id TEXT NOT NULL, org_id TEXT NOT NULL,
    owner TEXT NOT NULL, subject TEXT NOT NULL, PRIMARY KEY (dashboard_id, subject));
CREATE INDEX dashboard_people_by_subject ON dashboard_people (org_id, subject);
CREATE TABLE dashboard_sandboxes (dashboard_id TEXT NOT NULL, org_id TEXT NOT NULL,
    owner TEXT NOT NULL, sandbox_id TEXT NOT NULL, PRIMARY KEY (dashboard_id, sandbox_id));
CREATE INDEX dashboard_sandboxes_by_sandbox ON dashboard_sandboxes (sandbox_id);
CREATE TABLE dashboard_snapshots (dashboard_id TEXT NOT NULL, org_id TEXT NOT NULL,
    owner TEXT NOT NULL, seq BIGINT NOT NULL, types {bytes} NOT NULL, data {bytes} NOT NULL,
    PRIMARY KEY (dashboard_id));
CREATE TABLE dashboard_updates (dashboard_id TEXT NOT NULL, org_id TEXT NOT NULL,
    owner TEXT NOT NULL, seq BIGINT NOT NULL, at_us BIGINT NOT NULL, parts {bytes} NOT NULL,
    PRIMARY KEY (dashboard_id, seq));
CREATE TABLE dashboards (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    scope TEXT NOT NULL, created_us BIGINT NOT NULL, updated_us BIGINT NOT NULL, deleted_us BIGINT,
    item_count BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id));
CREATE INDEX dashboards_by_age ON dashboards (org_id, created_us, id);
CREATE INDEX dashboards_by_deletion ON dashboards (deleted_us);
CREATE INDEX dashboards_by_owner ON dashboards (org_id, owner);
CREATE TABLE desktops (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    name TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id), UNIQUE (org_id, owner, name));
CREATE TABLE event_gaps (stream TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    position BIGINT NOT NULL, removed BIGINT NOT NULL, PRIMARY KEY (stream, org_id, owner));
CREATE INDEX event_gaps_by_owner ON event_gaps (org_id, owner, position);
CREATE TABLE events (position {counter}, id TEXT NOT NULL, org_id TEXT NOT NULL,
    owner TEXT NOT NULL, stream TEXT NOT NULL, seq BIGINT NOT NULL, event_type TEXT NOT NULL,
    event_version INTEGER NOT NULL, at_us BIGINT NOT NULL, actor_kind TEXT NOT NULL,
    actor_id TEXT NOT NULL, reason TEXT, payload TEXT NOT NULL, UNIQUE (stream, seq), UNIQUE (id));
CREATE INDEX events_by_owner ON events (org_id, owner, position);
CREATE TABLE guests (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    share_id TEXT NOT NULL, mark TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id),
    UNIQUE (mark));
CREATE INDEX guests_by_share ON guests (share_id);
CREATE TABLE hook_reports (hook_id TEXT NOT NULL, mark TEXT NOT NULL, until_us BIGINT NOT NULL,
    PRIMARY KEY (hook_id, mark));
CREATE INDEX hook_reports_by_end ON hook_reports (until_us);
CREATE TABLE hooks (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    body TEXT NOT NULL, key_id TEXT NOT NULL, wrapped {bytes} NOT NULL, sealed {bytes} NOT NULL,
    PRIMARY KEY (id));
CREATE INDEX hooks_by_owner ON hooks (org_id, owner);
CREATE TABLE host_entries ("key" TEXT NOT NULL, epoch INTEGER NOT NULL, n BIGINT NOT NULL,
    request_id TEXT NOT NULL, at_us BIGINT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY ("key", epoch, n));
CREATE INDEX host_entries_request ON host_entries ("key", epoch, request_id);
CREATE TABLE host_leases ("key" TEXT NOT NULL, epoch INTEGER NOT NULL, desktop_id TEXT NOT NULL,
    mark TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY ("key", epoch));
CREATE INDEX host_leases_desktop ON host_leases (desktop_id);
CREATE UNIQUE INDEX host_leases_mark ON host_leases (mark);
CREATE TABLE host_offers (number {counter}, desktop_id TEXT NOT NULL, "key" TEXT NOT NULL,
    worker_id TEXT NOT NULL, epoch INTEGER NOT NULL, request_id TEXT NOT NULL,
    key_id TEXT NOT NULL, wrapped {bytes} NOT NULL, sealed {bytes} NOT NULL);
CREATE INDEX host_offers_desktop ON host_offers (desktop_id, number);
CREATE UNIQUE INDEX host_offers_request ON host_offers ("key", epoch, request_id);
CREATE TABLE hosts (name TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (name));
CREATE TABLE idempotency_keys (org_id TEXT NOT NULL, owner TEXT NOT NULL, "key" TEXT NOT NULL,
    digest TEXT NOT NULL, sandbox_id TEXT NOT NULL, at_us BIGINT NOT NULL,
    PRIMARY KEY (org_id, owner, "key"));
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at_us);
CREATE TABLE invitations (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    mark TEXT NOT NULL, expires_us BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id),
    UNIQUE (mark));
CREATE INDEX invitations_by_org ON invitations (org_id);
CREATE TABLE journal_actors (sandbox_id TEXT NOT NULL, thing_id TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (sandbox_id, thing_id));
CREATE TABLE journal_marks (sandbox_id TEXT NOT NULL, generation INTEGER NOT NULL,
    org_id TEXT NOT NULL, owner TEXT NOT NULL, n BIGINT NOT NULL,
    PRIMARY KEY (sandbox_id, generation));
CREATE TABLE leaders (id TEXT NOT NULL, epoch BIGINT NOT NULL, holder TEXT NOT NULL,
    PRIMARY KEY (id));
CREATE TABLE login_books (id TEXT NOT NULL, version BIGINT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (id));
CREATE TABLE login_tickets (state_mark TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    mark TEXT, expires_us BIGINT NOT NULL, body TEXT NOT NULL, key_id TEXT, wrapped {bytes},
    sealed {bytes}, PRIMARY KEY (state_mark), UNIQUE (mark));
CREATE INDEX login_tickets_by_end ON login_tickets (expires_us);
CREATE TABLE maintenance_requests (sandbox_id TEXT NOT NULL, until_us BIGINT NOT NULL, answer TEXT,
    PRIMARY KEY (sandbox_id));
CREATE TABLE members (org_id TEXT NOT NULL, owner TEXT NOT NULL, since_us BIGINT NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY (org_id, owner));
CREATE INDEX members_by_person ON members (owner);
CREATE TABLE network_bounds (org_id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (org_id));
CREATE TABLE organizations (org_id TEXT NOT NULL, slug TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (org_id), UNIQUE (slug));
CREATE TABLE outbox_cursors (stream TEXT NOT NULL, position BIGINT NOT NULL,
    sequence BIGINT NOT NULL, PRIMARY KEY (stream));
CREATE TABLE owed_work (sandbox_id TEXT NOT NULL, number BIGINT NOT NULL, ending BIGINT NOT NULL,
    PRIMARY KEY (sandbox_id));
CREATE TABLE people (owner TEXT NOT NULL, org_id TEXT NOT NULL, issuer TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (owner), UNIQUE (issuer, subject));
CREATE TABLE person_sessions (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    mark TEXT NOT NULL, created_us BIGINT NOT NULL, seen_us BIGINT NOT NULL,
    checked_us BIGINT NOT NULL, expires_us BIGINT NOT NULL, body TEXT NOT NULL, key_id TEXT,
    wrapped {bytes}, sealed {bytes}, PRIMARY KEY (id), UNIQUE (mark));
CREATE INDEX person_sessions_by_check ON person_sessions (checked_us);
CREATE INDEX person_sessions_by_end ON person_sessions (expires_us);
CREATE INDEX person_sessions_by_owner ON person_sessions (owner);
CREATE TABLE preview_visits (mark TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    sandbox_id TEXT NOT NULL, preview_id TEXT, created_us BIGINT NOT NULL,
    expires_us BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (mark));
CREATE INDEX preview_visits_by_end ON preview_visits (expires_us);
CREATE INDEX preview_visits_by_preview ON preview_visits (preview_id);
CREATE INDEX preview_visits_by_sandbox ON preview_visits (sandbox_id, created_us);
CREATE TABLE previews (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    sandbox_id TEXT NOT NULL, state TEXT NOT NULL, pull_request TEXT, created_us BIGINT NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY (id));
CREATE INDEX previews_by_name ON previews (pull_request);
CREATE INDEX previews_by_sandbox ON previews (sandbox_id, created_us, id);
CREATE INDEX previews_living ON previews (state) WHERE state <> 'gone';
CREATE UNIQUE INDEX previews_living_name ON previews (pull_request)
    WHERE pull_request IS NOT NULL AND state <> 'gone';
CREATE TABLE profiles (org_id TEXT NOT NULL, id TEXT NOT NULL, version TEXT NOT NULL,
    owner TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (org_id, id, version));
CREATE TABLE projection_states (name TEXT NOT NULL, stream TEXT NOT NULL, position BIGINT NOT NULL,
    body TEXT, kept_position BIGINT, kept_body TEXT, PRIMARY KEY (name, stream));
CREATE TABLE projections (name TEXT NOT NULL, position BIGINT NOT NULL, PRIMARY KEY (name));
CREATE TABLE projects (org_id TEXT NOT NULL, owner TEXT NOT NULL, repository TEXT NOT NULL,
    digest TEXT NOT NULL, decided_us BIGINT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (org_id, owner, repository, digest));
CREATE TABLE pull_orders (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    at_us BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id));
CREATE INDEX pull_orders_by_owner ON pull_orders (org_id, owner, at_us);
CREATE TABLE push_subscriptions (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    mark TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id));
CREATE UNIQUE INDEX push_subscriptions_by_owner ON push_subscriptions (org_id, owner, mark);
CREATE TABLE quotas (org_id TEXT NOT NULL, owner TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (org_id, owner));
CREATE TABLE route_outcomes (extension TEXT NOT NULL, place TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (extension, place));
CREATE TABLE route_rules (org_id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (org_id));
CREATE TABLE routes (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    sandbox_id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id));
CREATE TABLE sandbox_log (n {number} NOT NULL, sandbox_id TEXT NOT NULL, org_id TEXT NOT NULL,
    owner TEXT NOT NULL, at_us BIGINT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (n));
CREATE INDEX sandbox_log_by_sandbox ON sandbox_log (sandbox_id, n);
CREATE TABLE sandbox_usage (sandbox_id TEXT NOT NULL, org_id TEXT NOT NULL,
    requests BIGINT NOT NULL, refused BIGINT NOT NULL, bytes_in BIGINT NOT NULL,
    bytes_out BIGINT NOT NULL, tokens_in BIGINT NOT NULL, tokens_out BIGINT NOT NULL,
    calls BIGINT DEFAULT '0' NOT NULL, tokens_cached BIGINT DEFAULT '0' NOT NULL,
    PRIMARY KEY (sandbox_id));
CREATE TABLE sandboxes (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    name TEXT NOT NULL, state TEXT NOT NULL, scope TEXT NOT NULL, agent_key TEXT,
    created_us BIGINT NOT NULL, body TEXT NOT NULL, host TEXT DEFAULT 'local' NOT NULL,
    PRIMARY KEY (id));
CREATE INDEX sandboxes_by_age ON sandboxes (org_id, owner, created_us, id);
CREATE INDEX sandboxes_by_host ON sandboxes (host, state);
CREATE INDEX sandboxes_by_state ON sandboxes (state);
CREATE INDEX sandboxes_living_by_age ON sandboxes (org_id, owner, created_us, id)
    WHERE state <> 'destroyed';
CREATE UNIQUE INDEX sandboxes_living_name ON sandboxes (org_id, owner, name)
    WHERE state NOT IN ('destroying', 'destroyed');
CREATE INDEX sandboxes_shared_by_age ON sandboxes (org_id, created_us, id) WHERE scope = 'shared';
CREATE TABLE secret_values (secret_id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    key_id TEXT NOT NULL, wrapped {bytes} NOT NULL, sealed {bytes} NOT NULL,
    PRIMARY KEY (secret_id));
CREATE TABLE secrets (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    holder TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (id), UNIQUE (org_id, holder, scope, name));
CREATE TABLE sessions (sandbox_id TEXT NOT NULL, session_id TEXT NOT NULL, org_id TEXT NOT NULL,
    owner TEXT NOT NULL, at_us BIGINT NOT NULL, PRIMARY KEY (sandbox_id, session_id));
CREATE INDEX sessions_by_owner ON sessions (org_id, owner);
CREATE TABLE shares (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    sandbox_id TEXT NOT NULL, mark TEXT NOT NULL, expires_us BIGINT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (id), UNIQUE (mark));
CREATE INDEX shares_by_end ON shares (expires_us);
CREATE INDEX shares_by_sandbox ON shares (sandbox_id);
CREATE TABLE signing_keys (kid TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    created_us BIGINT NOT NULL, retired_us BIGINT, public TEXT NOT NULL, key_id TEXT NOT NULL,
    wrapped {bytes} NOT NULL, sealed {bytes} NOT NULL, PRIMARY KEY (kid));
CREATE TABLE tokens (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    mark TEXT NOT NULL, parent TEXT, expires_us BIGINT NOT NULL, used_us BIGINT,
    body TEXT NOT NULL, PRIMARY KEY (id), UNIQUE (mark));
CREATE INDEX tokens_by_end ON tokens (expires_us);
CREATE INDEX tokens_by_owner ON tokens (org_id, owner);
CREATE INDEX tokens_by_parent ON tokens (parent);
CREATE TABLE usage_buckets (org_id TEXT NOT NULL, width INTEGER NOT NULL, at_us BIGINT NOT NULL,
    sandboxes BIGINT NOT NULL, agents BIGINT NOT NULL, working BIGINT NOT NULL,
    sessions BIGINT NOT NULL, requests BIGINT NOT NULL, refused BIGINT NOT NULL,
    bytes_in BIGINT NOT NULL, bytes_out BIGINT NOT NULL, tokens_in BIGINT NOT NULL,
    tokens_out BIGINT NOT NULL, calls BIGINT DEFAULT '0' NOT NULL,
    tokens_cached BIGINT DEFAULT '0' NOT NULL, PRIMARY KEY (org_id, width, at_us));
CREATE INDEX usage_buckets_by_age ON usage_buckets (width, at_us);
CREATE TABLE wakings (sandbox_id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    waits INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (sandbox_id));
CREATE INDEX wakings_by_org ON wakings (org_id);
CREATE TABLE watches (session_id TEXT NOT NULL, path TEXT NOT NULL, position BIGINT NOT NULL,
    expires_us BIGINT NOT NULL, PRIMARY KEY (session_id, path));
CREATE INDEX watches_by_end ON watches (expires_us);
CREATE TABLE webhook_deliveries (webhook_id TEXT NOT NULL, event_id TEXT NOT NULL,
    state TEXT NOT NULL, position BIGINT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (webhook_id, event_id));
CREATE INDEX webhook_deliveries_by_position ON webhook_deliveries (webhook_id, position);
CREATE TABLE webhooks (id TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY (id));
CREATE INDEX webhooks_by_owner ON webhooks (org_id, owner);
CREATE TABLE worker_artifacts ("key" TEXT NOT NULL, name TEXT NOT NULL, at_us BIGINT NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY ("key", name));
CREATE INDEX worker_artifacts_by_age ON worker_artifacts (at_us);
CREATE TABLE worker_events ("key" TEXT NOT NULL, seq BIGINT NOT NULL, event_type TEXT NOT NULL,
    event_version INTEGER NOT NULL, at_us BIGINT NOT NULL, payload TEXT NOT NULL,
    PRIMARY KEY ("key", seq));
CREATE INDEX worker_events_by_age ON worker_events (at_us);
CREATE INDEX worker_events_lost ON worker_events (at_us) WHERE event_type = 'worker.lost';
CREATE INDEX worker_events_started ON worker_events ("key", seq)
    WHERE event_type = 'worker.started';
CREATE TABLE worker_requests ("key" TEXT NOT NULL, request_id TEXT NOT NULL, n BIGINT NOT NULL,
    answered INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY ("key", request_id));
CREATE INDEX worker_requests_open ON worker_requests ("key", answered, n);
CREATE TABLE workers ("key" TEXT NOT NULL, org_id TEXT NOT NULL, owner TEXT NOT NULL,
    worker_id TEXT NOT NULL, created_us BIGINT NOT NULL, settled INTEGER NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY ("key"), UNIQUE (org_id, owner, worker_id));
CREATE INDEX workers_unsettled ON workers (settled);
