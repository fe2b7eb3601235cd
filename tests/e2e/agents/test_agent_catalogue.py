"""Which agents run in a sandbox: the installation's, fewer by its profile, fewer by its maker."""

from tests.peers.api import Api

ONLY = """\
id: profile.only
version: "1.0.0"
extension: ext.namespaces
agent_catalogue: [shell, codex]
"""


PROFILES = {"only": ONLY}


def _refusal(api: Api, **body: object) -> tuple[int, str, str]:
    answer = api.client.post("/v1/sandboxes", json={"profile": "only", **body})
    told = answer.json()
    return answer.status_code, told.get("code", ""), told.get("field", "")


def test_catalogue_of_a_profile_bounds_what_its_sandboxes_start(api: Api) -> None:
    made = api.create(profile="only")
    assert made["agent_catalogue"] == ["shell", "codex"]
    path = f"/v1/sandboxes/{made['sandbox_id']}/terminals"
    assert api.client.post(path, json={"agent": "shell"}).status_code == 201
    refused = api.client.post(path, json={"agent": "opencode"})
    assert (refused.status_code, refused.json()["field"]) == (403, "agent")
    assert "which allows shell, codex" in refused.json()["detail"]
    shown = api.server.run("info", made["name"]).stdout
    assert "shell, codex (not inside)" in shown, shown


def test_catalogue_of_a_create_is_smaller_and_never_larger(api: Api) -> None:
    made = api.create(profile="only", agent_catalogue=["shell"])
    assert made["agent_catalogue"] == ["shell"]
    path = f"/v1/sandboxes/{made['sandbox_id']}/terminals"
    refused = api.client.post(path, json={"agent": "codex"})
    assert refused.json()["detail"].endswith("which allows shell")
    assert "agent codex" in refused.json()["detail"]
    assert _refusal(api, agent_catalogue=["opencode"]) == (422, "invalid", "agent_catalogue")


def test_agent_left_out_is_refused_before_anything_is_made(api: Api) -> None:
    assert _refusal(api, agent="opencode") == (403, "forbidden", "agent")
    assert _refusal(api, agent="shell", agent_catalogue=[]) == (403, "forbidden", "agent")
    nobody = api.client.post(
        "/v1/sandboxes", json={"profile": "shell", "agent_catalogue": ["nobody"]}
    )
    assert nobody.status_code == 422


def test_sandbox_without_a_catalogue_shows_none(api: Api) -> None:
    assert api.create()["agent_catalogue"] is None
