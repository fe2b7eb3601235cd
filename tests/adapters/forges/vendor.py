"""GitHub and Gitea as servers: what they keep, in the words of their own descriptions.

Each request is judged by the vendor's description, and each answer is made and judged by it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.adapters.forges.description import AT, described

TOKEN = "ghp_a-token-of-the-tests"
OWNER, NAME = "o-1", "r.js"
HERE = f"/repos/{OWNER}/{NAME}"
LATER = "2026-01-02T04:04:05Z"

Said = tuple[int, Any]


@dataclass
class Vendor:
    """A vendor with one repository. `faults` are raised by the next requests; `seen` are the
    requests."""

    kind: str
    commits: dict[str, str]
    revoked: bool = False
    pulls: list[dict[str, Any]] = field(default_factory=list)
    issues: list[dict[str, Any]] = field(default_factory=list)
    discussed: bool = False
    seen: list[str] = field(default_factory=list)
    answer: Callable[[], web.Response] | None = None

    async def handle(self, request: web.Request) -> web.Response:
        """Answer as the vendor does."""
        self.seen.append(f"{request.method} {request.path_qs}")
        assert "?" not in request.headers.get("Authorization", "")
        if self.answer is not None:
            return self.answer()
        path = request.rel_url.raw_path.removeprefix("/api/v1")
        template, operation = described(self.kind).operation(request.method, path)
        body = json.loads(await request.read() or b"null")
        described(self.kind).check_request(operation, dict(request.query), body)
        if self.revoked or request.headers.get("Authorization", "").split(" ")[1:] != [TOKEN]:
            return web.json_response({"message": "Bad credentials"}, status=401)
        if path != "/user/repos" and not f"{path}/".startswith(f"{HERE}/"):
            return web.json_response({"message": "Not Found"}, status=404)
        status, values = self._told(request.method, template, path, dict(request.query), body)
        if status >= 400:
            return web.json_response(values, status=status)
        return web.json_response(
            described(self.kind).answer(operation, status, values), status=status
        )

    def _told(
        self, method: str, template: str, path: str, query: Mapping[str, str], body: Any
    ) -> Said:
        last = template.rsplit("/", 1)[-1]
        if method == "POST":
            return self._open(body)
        match last:
            case "repos":
                return 200, [self._repository()]
            case "{repo}":
                return 200, self._repository()
            case "branches":
                return 200, [self._branch(name) for name in self.commits]
            case "{branch}":
                name = path.rsplit("/", 1)[-1].replace("%2F", "/")
                return (200, self._branch(name)) if name in self.commits else (404, {})
            case "pulls":
                wanted = query.get("head", ":").split(":")[1]
                fits = [one for one in self.pulls if wanted in ("", one["head"]["ref"])]
                return 200, fits[::-1]
            case "{index}" | "{pull_number}" | "{issue_number}":
                issues = "/issues/" in template
                return self._numbered(int(path.rsplit("/", 1)[-1]), issues=issues)
            case _:
                return 200, self._discussion(last, template)

    def write_issue(self, title: str, text: str) -> int:
        """Open an issue, as a person does at the site; return its number."""
        number = len(self.issues) + 70
        self.issues.append({"number": number, "title": title, "state": "open", "body": text})
        return number

    def merge(self, number: int) -> None:
        """Merge a pull request, as a person does at the site."""
        (pull,) = [one for one in self.pulls if one["number"] == number]
        pull["state"] = "closed"
        pull |= {"merged_at": AT} if self.kind == "github" else {"merged": True}

    def _numbered(self, number: int, *, issues: bool) -> Said:
        """Return the issue or pull request of a number: all of these are issues, too."""
        for one in self.issues if issues else ():
            if one["number"] == number:
                return 200, one
        for one in self.pulls:
            if one["number"] == number:
                words = {key: one[key] for key in ("number", "title", "state", "body")}
                urls = {"html_url": "https://forge.example/x"}
                more = dict.fromkeys(("diff_url", "patch_url", "url"), urls["html_url"])
                meta = urls | (more if self.kind == "github" else {})
                return 200, words | {"pull_request": meta} if issues else one
        return 404, {"message": "Not Found"}

    def _repository(self) -> dict[str, Any]:
        return {"full_name": f"{OWNER}/{NAME}", "default_branch": "main"}

    def _branch(self, name: str) -> dict[str, Any]:
        word = "sha" if self.kind == "github" else "id"
        return {"name": name, "commit": {word: self.commits[name]}}

    def _open(self, body: Any) -> Said:
        head, base, title = body["head"], body["base"], body["title"]
        opened = any(one["head"]["ref"] == head for one in self.pulls)
        if opened or head not in self.commits or base not in self.commits:
            why = {"message": "Validation Failed", "errors": [{"message": "No commits\x1b[2J"}]}
            return 422 if self.kind == "github" else 409, why
        draft = body.get("draft", title.startswith("WIP: "))
        made: dict[str, Any] = {
            "number": len(self.pulls) + 7, "title": title, "state": "open", "draft": draft,
            "body": body.get("body", ""),
            "head": {"ref": head, "sha": self.commits[head]},
            "base": {"ref": base, "sha": self.commits[base]},
        }  # fmt: skip
        made["head"]["repo"] = self._repository()
        if self.kind == "github":
            made["merged_at"] = None
        self.pulls.append(made)
        return 201, made

    def _discussion(self, last: str, template: str) -> Any:
        lint = {"context": "lint", "state" if self.kind == "github" else "status": "success"}
        if last == "check-runs":
            tests = {"name": "tests", "status": "completed", "conclusion": "failure"}
            return {"total_count": 1, "check_runs": [tests] if self.discussed else []}
        if last == "status":
            failed = {"context": "tests", "status": "failure"}
            more = [failed] if self.kind == "gitea" else []
            return {"statuses": [lint, *more] if self.discussed else []}
        if not self.discussed:
            return []
        user = {"login": "ada"}
        if last == "reviews":
            count = {"comments_count": 1} if self.kind == "gitea" else {}
            empty = {"id": 3, "user": user, "body": "", "submitted_at": LATER} | count
            return [{**empty, "id": 2, "body": "Not yet."}, {**empty, "id": 3}]
        if "issues" in template:
            return []
        word = "line" if self.kind == "github" else "position"
        place = {"path": "src/a.py", word: 3}
        # A Gitea has the comments of each review, the second of which is this one's.
        return [{"id": 5, "user": user, "body": "Why two?", "created_at": AT, **place}]


def application(vendor: Vendor) -> web.Application:
    """Return the vendor as a server."""
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", vendor.handle)
    return app
