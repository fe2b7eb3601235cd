"""Examples of what the operations take and answer, for the OpenAPI document.

They follow from the schemas: a field's value from its name, of an answer all fields, of a body
those that it needs. So a new field has an example, and a test finds that each fits its schema.
`BODIES` has the bodies that a schema alone does not make sensible.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

JSON: Final = "application/json"
TIME: Final = "2026-11-24T15:20:00.000Z"
DIGEST: Final = "5b1e" * 16
COMMIT: Final = "9fceb02d0ae598e95dc970b74767f19372d61af8"

TEXTS: Final[Mapping[str, str]] = {
    "agent": "claude-code", "agent_id": "t_3k7qa2mnzv5xw4ty", "approval_id": "ap_3k7qa2mnzv5xw4ty",
    "argv": "make", "at": TIME, "branch": "fix-login", "command": "npm test", "commit": COMMIT,
    "cpu": "4", "cwd": "/workspace", "detail": "There is no sandbox demo.", "digest": DIGEST,
    "email": "mia@example.com", "env": "GITHUB_TOKEN", "event_id": "ev_b5m2xq7zk4hn3rtw",
    "event_type": "sandbox.ready", "exec_id": "e_3k7qa2mnzv5xw4ty", "extension": "ext.namespaces",
    "from_branch": "main", "groups": "backend", "host": "api.example.com",
    "hosts": "api.example.com", "id": "t_3k7qa2mnzv5xw4ty",
    "instructions": "Read CONTRIBUTING.md first.", "invitation_id": "inv_3k7qa2mnzv5xw4ty",
    "key": "0123456789abcdef01234567", "kept_id": "kept_3k7qa2mnzv5xw4ty",
    "link": "https://atoll.example.com/#share=SECRET", "mechanism": "bubblewrap",
    "member": "mia", "member_id": "p_3k7qa2mnzv5xw4ty", "memory": "8GiB",
    "message": "Fix the login",
    "mode": "tui", "name": "demo", "onto": "main", "option": "allow",
    "order_id": "pull_3k7qa2mnzv5xw4ty", "org_id": "personal", "organization_id": "personal",
    "owner": "person", "path": "src/app.py", "permission_mode": "default",
    "poll_url": "/v1/sandboxes/sb_wmkmqeieuibhl2so", "profile": "shell", "prompt": "Fix the login.",
    "provider": "anthropic", "pty_id": "t_3k7qa2mnzv5xw4ty", "question": "Allow Bash? npm publish",
    "recording_id": "r_3k7qa2mnzv5xw4ty", "ref": "refs/heads/fix-login",
    "repo_url": "https://github.com/o/r", "repository": "github.com/o/r",
    "sandbox_id": "sb_wmkmqeieuibhl2so", "sandbox_name": "demo",
    "secret_id": "sec_3k7qa2mnzv5xw4ty",
    "session_id": "sb_wmkmqeieuibhl2so", "share_id": "shr_3k7qa2mnzv5xw4ty", "shown": DIGEST,
    "signal": "INT", "slug": "acme", "storage": "100GiB", "stream": "sandbox:sb_wmkmqeieuibhl2so",
    "streams": "sandbox:sb_wmkmqeieuibhl2so", "subject": "Fix the login",
    "subscription_id": "ps_3k7qa2mnzv5xw4ty", "terminal_id": "t_3k7qa2mnzv5xw4ty",
    "text": "Use tabs.", "tips": COMMIT, "tip": COMMIT, "title": "npm test", "ttl": "4h",
    "access_token": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln", "actor_id": "person", "address": "192.0.2.7",
    "agent_catalogue": "claude-code", "audience": "billing", "auth": "tBHItJI5svbpez7KI4CCXg",
    "by": "mia", "card": "approval:r1", "effect": "allow", "endpoint": "https://push.example.com/1",
    "expects": COMMIT, "file": "atoll.toml", "fingerprint": "b5m2xq7z", "from": "a.txt",
    "harness": "atoll-cli", "hash": DIGEST, "head": "fix-login", "inviter": "Mia",
    "key_id": "mk_1", "kid": "gwLM9zcDIZW3", "label": "Allow", "last4": "d4E5",
    "lines": "Allow Bash? npm publish", "model": "opus", "obstacle": "", "on": "npm test",
    "p256dh": "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQt",
    "page_key": "hJ2kLm4nPq6rSt8u", "permission": "sandbox.read", "previous": DIGEST,
    "principal": "person", "public_key": "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQt",
    "purpose": "provider:openai", "reason": "Asked for by its owner.", "request_id": "8f1c2d",
    "role": "member", "said": "pulled", "sandbox_state": "ready", "scope": "person",
    "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "service": "push.example.com",
    "shell": "make test", "signature": DIGEST, "since": TIME, "source": "atoll.toml",
    "stderr": "", "stdin": "", "stdout": "b2sK", "target": "/data", "ticket": "kTq3n8yWzR5vL2xP",
    "to": "b.txt", "token": "atoll_pat_3k7qa2mnzv5xw4ty", "token_id": "tok_3k7qa2mnzv5xw4ty",
    "token_type": "Bearer", "wrong": "",
    "url": "https://hooks.example.com/atoll", "value": "the-value-of-the-secret",
    "version": "1.0.0", "webhook_id": "whk_3k7qa2mnzv5xw4ty", "words": "amber canoe violet",
}  # fmt: skip
"""The text of a field, by its name."""

NUMBERS: Final[Mapping[str, int | float]] = {
    "cols": 80, "rows": 24, "position": 4211, "seq": 7, "generation": 1, "status": 404,
    "expires_in": 900, "bytes": 2048, "size": 2048, "timeout": 60,
}  # fmt: skip

BODIES: Final[Mapping[str, Any]] = {
    "CreateBody": {
        "profile": "shell",
        "name": "demo",
        "repos": [{"repo_url": "https://github.com/o/r", "branch": "fix-login"}],
        "ttl": "4h",
    },
    "ExecBody": {"argv": ["make", "test"], "cwd": "/workspace"},
    "TerminalBody": {"cols": 120, "rows": 40},
    "TerminalChangeBody": {"name": "build"},
    "ArtifactBody": {
        "name": "app.tgz",
        "type": "application/gzip",
        "size": 5120,
        "sha256": DIGEST,
    },
    "ServiceEventBody": {"name": "build.finished", "data": {"ok": True}, "worker_id": "docs"},
    "ExtendBody": {"ttl": "2h"},
    "NetworkBody": {"mode": "limited", "allow": ["registry.example.com"]},
    "ShareBody": {"role": "viewer", "ttl": "1h"},
    "SecretBody": {"value": "the-value-of-the-secret", "kind": "provider", "provider": "openai"},
    "NewSecretBody": {
        "name": "OPENAI",
        "value": "the-value-of-the-secret",
        "kind": "provider",
        "provider": "openai",
    },
    "InviteBody": {"role": "member", "email": "mia@example.com"},
    "MemberBody": {"role": "admin"},
    "WebhookBody": {"url": "https://hooks.example.com/atoll", "event_types": ["sandbox.*"]},
    "WebhookChangeBody": {"enabled": True},
    "QuotaBody": {"sandboxes": 20, "memory": "64GiB"},
    "PatBody": {"name": "ci", "capabilities": ["sandbox.read"], "ttl": "30d"},
    "SettingsBody": {"model": "opus"},
    "AnswerBody": {"option": "allow"},
    "SyncBody": {"repo": 0, "act": "rebase"},
    "PullRequestBody": {"title": "Fix the login", "base": "main"},
    "AgentBody": {"agent": "claude-code", "mode": "machine", "prompt": "Fix the login."},
    "ApproveBody": {"for": "once", "shown": DIGEST, "words": "amber canoe violet"},
    "InboxAnswerBody": {"option": "allow", "shown": DIGEST},
    "OrganizationChangeBody": {"name": "Acme"},
    "ReplayBody": {"after": 4200},
    "RotationBody": {"at_once": False},
    "RotateBody": {"overlap": "1d"},
    "SubscriptionBody": {"streams": ["sandbox:sb_wmkmqeieuibhl2so"]},
    "ConsumerEndBody": {"harness": "atoll-cli", "session_id": "s-17"},
    "save_profile_v1_profiles__profile__put": {
        "id": "profile.mine",
        "version": "1.0.0",
        "extension": "ext.namespaces",
    },
    "PullBody": {"repo": 0, "branch": "fix-login"},
}
"""Bodies by the name of their schema, else by their operation."""

MAX_DEPTH: Final = 8


def add_examples(made: dict[str, Any]) -> None:
    """Give each body and each answer of JSON an example. Those of one schema are written once."""
    schemas = made["components"]["schemas"]
    shared: dict[str, Any] = made["components"].setdefault("examples", {})
    for operation in _operations(made):
        body = operation.get("requestBody", {}).get("content", {}).get(JSON)
        answers = operation["responses"].items()
        contents = [one.get("content", {}).get(JSON) for status, one in answers if status < "3"]
        for content, needed in ((body, True), *((one, False) for one in contents)):
            if content is not None:
                schema = content["schema"]
                ref = schema.get("anyOf", [schema])[0].get("$ref", "")
                name = ref.rpartition("/")[2] or operation["operationId"]
                if name not in shared:
                    shared[name] = {"value": _example(schema, name, schemas, needed=needed)}
                content["examples"] = {"usual": {"$ref": f"#/components/examples/{name}"}}


def _operations(made: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in made["paths"].values():
        yield from item.values()


def _example(schema: dict[str, Any], name: str, schemas: Mapping[str, Any], *, needed: bool) -> Any:
    return BODIES[name] if name in BODIES else _Maker(schemas, needed=needed).value(schema, "")


class _Maker:
    """Maker of examples; with `needed` an object has only what it requires."""

    def __init__(self, schemas: Mapping[str, Any], *, needed: bool = False) -> None:
        self._schemas = schemas
        self._needed = needed

    def value(self, schema: Mapping[str, Any], name: str, depth: int = 0) -> Any:
        """Return a value of this schema for a field of this name."""
        if "$ref" in schema:
            return self.value(self._schemas[schema["$ref"].rpartition("/")[2]], name, depth)
        if "anyOf" in schema:
            unknown = name not in TEXTS and name not in NUMBERS and not name.endswith("_at")
            empty = unknown and {"type": "null"} in schema["anyOf"]
            return None if empty else self.value(schema["anyOf"][0], name, depth)
        for keyword in ("const", "default"):
            if keyword in schema and depth:
                return schema[keyword]
        if "examples" in schema:
            return schema["examples"][0]
        return self._example_of(schema, name, depth)

    def _example_of(self, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        if "enum" in schema:
            text = TEXTS.get(name)
            return text if text in schema["enum"] else schema["enum"][0]
        match schema.get("type"):
            case "object":
                return self._example_object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "integer" | "number":
                return _example_number(schema, name)
            case "boolean":
                return False
            case "string":
                return _example_text(schema, name)
            case _:
                return {}

    def _example_object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        fields = schema.get("properties", {})
        return {
            name: self.value(field, name, depth + 1)
            for name, field in fields.items()
            if name in required or not self._needed
        }

    def _array(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        plain = schema.get("items", {}).get("type") == "string" and name not in TEXTS
        if depth >= MAX_DEPTH or (plain and not schema.get("minItems")):
            return []
        item = self.value(schema.get("items", {}), name, depth + 1)
        return [item] * max(1, schema.get("minItems", 0))


def _example_number(schema: Mapping[str, Any], name: str) -> int | float:
    found = NUMBERS.get(name, schema.get("minimum", 0))
    return int(found) if schema.get("type") == "integer" else found


def _example_text(schema: Mapping[str, Any], name: str) -> str:
    if name.endswith(("_at", "_until")) or schema.get("format") == "date-time":
        return TIME
    found = TEXTS.get(name, name or "text")
    least = schema.get("minLength", 0)
    return found if len(found) >= least else found * (least // max(len(found), 1) + 1)
