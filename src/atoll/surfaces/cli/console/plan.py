"""Plan of a sandbox: the options of `atoll new` without its name, which can be kept.

Kept plans lie in one small file of this person's (mode 0600, for they hold variables):
those saved by name, and the last one.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec

from atoll.domain.errors import Failed, Invalid, NotFound
from atoll.domain.repository.repository import is_path
from atoll.domain.sandboxes.instructions import REPO
from atoll.surfaces.cli.console.memory import state_file
from atoll.wire.http.unreadable import UNREADABLE

MAX_PRESETS = 100
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}\Z")


@dataclass(frozen=True, slots=True)
class SandboxPlan:
    """The options of `new`. `also` are further repositories as `REPO[#BRANCH[:FROM]]`, `env` are
    `K=V` words, `mount` are `HOST:PATH[:ro|rw]`, `copy` `HOST:PATH`, `may_run` the agents that it
    is limited to. None and empty mean that nothing was said."""

    repo: str | None = None
    branch: str | None = None
    from_branch: str | None = None
    also: tuple[str, ...] = ()
    profile: str | None = None
    agent: str | None = None
    machine: bool = False
    ask_first: bool = False
    may_run: tuple[str, ...] = ()
    softlock: str | None = None
    secret: tuple[str, ...] = ()
    network: str | None = None
    ttl: str | None = None
    env: tuple[str, ...] = ()
    wd: str | None = None
    sparse: tuple[str, ...] = ()
    mount: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    mirror: str | None = None
    access: str | None = None
    scope: str | None = None
    instructions: str | None = None
    compose: str | None = None
    host: str | None = None
    route: str | None = None
    extension: str | None = None
    region: str | None = None
    max_cost: str | None = None
    accept_open_network: bool = False
    execution_mode: str | None = None
    gpu: str | None = None

    def over(self, other: "SandboxPlan") -> "SandboxPlan":
        """Return this plan, completed by the options that only `other` sets."""
        options = {option.name: getattr(self, option.name) for option in fields(self)}
        return replace(other, **{name: value for name, value in options.items() if value})

    def anchor(self) -> "SandboxPlan":
        """Return the plan with paths that mean the same from any directory."""
        repo = self.repo
        return replace(
            self,
            repo=_absolute(repo) if repo is not None and is_path(repo) else repo,
            also=tuple(_anchor_spec(spec) for spec in self.also),
            instructions=_own_file(self.instructions),
            mirror=None if self.mirror is None else _absolute(self.mirror),
            mount=tuple(_anchor_pair(spec) for spec in self.mount),
            copy=tuple(_anchor_pair(spec) for spec in self.copy),
        )


@dataclass(frozen=True, slots=True)
class _StoredPlans:
    last: SandboxPlan | None = None
    presets: dict[str, SandboxPlan] = field(default_factory=dict)


def preset(environ: Mapping[str, str], name: str) -> SandboxPlan:
    """Return the plan saved as `name`. Raises `NotFound` with the names there are."""
    plans = _read(environ)
    if name not in plans.presets:
        names = ", ".join(sorted(plans.presets)) or "none; `--save-as NAME` keeps one"
        raise NotFound(f"no preset is called {name[:80]!r}; there are: {names}")
    return plans.presets[name]


def preset_names(environ: Mapping[str, str]) -> list[str]:
    """Return the names `preset` knows."""
    return sorted(_read(environ).presets)


def last_plan(environ: Mapping[str, str]) -> SandboxPlan:
    """Return what the last `new` was given. Raises `NotFound` when there was none."""
    plan = _read(environ).last
    if plan is None:
        raise NotFound(
            "no sandbox was created from this folder yet: run `atoll new` without --last first"
        )
    return plan


def save(environ: Mapping[str, str], plan: SandboxPlan, *, name: str | None) -> None:
    """Keep `plan` as the last one, and under `name`. Raises `Invalid` for an odd name or one too
    many, `Failed` when a name is given and the file cannot be written."""
    plans = _read(environ)
    presets = dict(plans.presets)
    if name is not None:
        if not _NAME.match(name):
            raise Invalid(f"{name[:80]!r} cannot name a preset: use a-z, 0-9, - and _")
        presets[name] = plan
        if len(presets) > MAX_PRESETS:
            raise Invalid(
                f"{MAX_PRESETS} presets exist already, which is the most: "
                f"remove one from {_path(environ)}"
            )
    try:
        _write(_path(environ), _StoredPlans(plan, presets))
    except OSError as error:
        if name is not None:
            raise Failed(f"the preset cannot be written: {error}") from error


def _read(environ: Mapping[str, str]) -> _StoredPlans:
    try:
        return msgspec.json.decode(_path(environ).read_bytes(), type=_StoredPlans)
    except (OSError, *UNREADABLE):
        return _StoredPlans()


def _write(path: Path, plans: _StoredPlans) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as new:  # 0600
        new.write(msgspec.json.encode(plans))
    Path(new.name).replace(path)


def _path(environ: Mapping[str, str]) -> Path:
    return state_file(environ, "presets.json")


def _own_file(instructions: str | None) -> str | None:
    if instructions is None or instructions.startswith(REPO):
        return instructions
    return _absolute(instructions)


def _anchor_spec(spec: str) -> str:
    repo, mark, rest = spec.partition("#")
    return f"{_absolute(repo)}{mark}{rest}" if is_path(repo) else spec


def _anchor_pair(spec: str) -> str:
    here, colon, rest = spec.partition(":")
    return f"{_absolute(here)}{colon}{rest}"


def _absolute(path: str) -> str:
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100  links are kept as named
