"""The permission of each command: that of the operation which it is there for.

The server decides; this table says beforehand what a role or a token must have for a command. The
words are those of `domain.people.capability`, as text: a command loads no more than it needs.
"""

LOCAL = "local"
"""The word of a command that calls no API: it works with this machine or with a file."""

_BY_PERMISSION: dict[str, tuple[str, ...]] = {
    LOCAL: (
        *("up", "down", "doctor", "wait-up", "completion", "profile validate"),
        *("db status", "db migrate", "db export", "db import", "db rebuild"),
        *("agent list", "agent install", "agent update", "agent remove", "agent rm"),
        *("agent add", "agent info", "agent check"),
        *("image build", "image import", "image list", "image prune", "image pull", "image rm"),
        "vm build",
        *("extension new", "extension enable", "extension disable", "extension check"),
    ),
    "me.manage": ("me", "logout", "org join", "org leave", "drive connect", "drive disconnect"),
    "sandbox.read": (
        *("list", "info", "kept", "logs", "net show", "preview list"),
        *("route show", "route default", "extension list", "extension info"),
    ),
    "sandbox.create": ("new", "route explain"),
    "sandbox.manage": (
        *("start", "stop", "recreate", "extend-ttl", "destroy", "prune"),
        *("project setup", "agent begin", "give"),
        *("net allow", "net deny", "net forget", "net mode"),
        *("preview create", "preview rebuild", "preview delete"),
    ),
    "terminal.watch": ("attach", "preview log"),
    "exec.use": ("exec", "preview link", "preview open"),
    "file.read": (
        *("cp", "find", "open", "diff", "commits", "checkpoints"),
        *("drive ls", "drive export"),
    ),
    "file.write": ("sync", "commit", "discard", "rewind", "project copy", "drive import"),
    "agent.read": (
        *("agent cards", "worker list", "worker show", "worker follow", "worker request"),
    ),
    "agent.use": (
        *("agent answer", "agent ask", "agent interrupt", "agent pause", "agent resume"),
        *("agent set", "agent start", "agent stop"),
        *("worker create", "worker ask", "worker answer", "worker stop"),
        *("worker take", "worker give-back", "worker check"),
        "worker erase",
        *("desktop link", "desktop list", "desktop run", "desktop unlink"),
    ),
    "recording.read": ("play", "search"),
    "recording.manage": ("record",),
    "repository.read": ("pull", "project list", "project show", "pr show"),
    "repository.write": ("pr create",),
    "profile.read": ("profile list", "profile show"),
    "profile.manage": ("profile save", "profile delete"),
    "secret.read": ("secret list", "agent logins"),
    "secret.manage": (
        *("secret set", "secret rotate", "secret rm"),
        *("agent login", "agent logout"),
    ),
    "approval.read": ("approvals", "inbox list"),
    "approval.decide": (
        *("approve", "deny", "revoke", "inbox answer"),
        *("project approve", "project forget"),
    ),
    "share.manage": (
        *("share new", "share list", "share rm"),
        *("dashboard link", "dashboard links", "dashboard unlink"),
    ),
    "event.read": ("events", "mcp"),
    "dashboard.read": ("dashboard list", "dashboard open", "inbox dismiss"),
    "dashboard.manage": (
        *("dashboard create", "dashboard rename", "dashboard share", "dashboard delete"),
        *("dashboard restore", "dashboard give"),
    ),
    "webhook.manage": (
        *("hook add", "hook list", "hook rm", "hook test"),
        *("webhook add", "webhook list", "webhook show", "webhook change", "webhook remove"),
        *("webhook test", "webhook rotate", "webhook failed", "webhook replay"),
    ),
    "token.manage": ("token new", "token list", "token revoke"),
    "audit.read": ("audit list", "audit export", "audit verify"),
    "org.read": ("whoami", "org list", "org show", "org members", "quota show"),
    "org.manage": (
        *("org invite", "org invitations", "org uninvite", "org role", "org remove"),
        *("org service-account", "org waiting", "dashboard waiting", "quota list", "quota set"),
        "quota network",
        "route set",
    ),
    "system.manage": (
        *("org create", "login", "vault rotate-master", "token rotate-keys"),
        *("host add", "host list", "host info", "host change", "host check"),
        "host trust",
        *("host drain", "host undrain", "host remove", "route health"),
        "extension reap",
    ),
}

PERMISSIONS: dict[str, str] = {
    command: permission for permission, commands in _BY_PERMISSION.items() for command in commands
}
"""Each command, by its words after `atoll`, with its permission or `LOCAL`."""
