"""What a daemon says of a stack, beside what it would say of our document and nothing else.

The whole of `HostConfig` and `Config` is compared, key by key: what the document does not name must
be as in a container that names nothing at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SECONDS = 10**9
COMPOSE = "com.docker.compose."
UNITS = {"m": 1 << 20}
HEALTH = {"test": "Test", "interval": "Interval", "timeout": "Timeout", "retries": "Retries"}
UNATTACHED = {"AttachStdout": False, "AttachStderr": False}
"""What compose asks to attach: nothing comes of it by `up -d`. Its second version asks for all."""

PLAIN = ("AppArmorProfile", "Driver", "MountLabel", "Platform", "ProcessLabel")
"""Of a container itself, and never ours to choose."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be seen. `document` is ours as it was given to compose, `plain` a container of the
    same image that names nothing."""

    document: Mapping[str, Any]
    project: str
    plain: Mapping[str, Any]

    def differences(self, name: str, seen: Mapping[str, Any]) -> list[str]:
        """Return what of a service's container is not as the document says."""
        service = self.document["services"][name]
        host, config = self._host(service), self._config(service, seen["Id"][:12])
        labels = seen["Config"]["Labels"]
        own = {key: value for key, value in labels.items() if not key.startswith(COMPOSE)}
        return [
            *_apart("HostConfig", host, _sorted_mounts(seen["HostConfig"])),
            *_apart("Config", config, seen["Config"] | {"Labels": own} | UNATTACHED),
            *_apart("", {key: self.plain[key] for key in PLAIN}, {key: seen[key] for key in PLAIN}),
            *_apart("", {"Mounts": self._mounts(service)}, {"Mounts": _mounted(seen["Mounts"])}),
            *self._networks(name, service, seen),
        ]

    def _host(self, service: Mapping[str, Any]) -> dict[str, Any]:
        word, _, tries = service["restart"].partition(":")
        soft_hard = {
            each: (limit, limit) if isinstance(limit, int) else (limit["soft"], limit["hard"])
            for each, limit in service["ulimits"].items()
        }
        said: dict[str, Any] = {
            "CapAdd": service.get("cap_add"),
            "CapDrop": service["cap_drop"],
            "Dns": service["dns"],
            "Init": service["init"],
            "LogConfig": {
                "Type": service["logging"]["driver"], "Config": service["logging"]["options"]
            },
            "Memory": _bytes(service["mem_limit"]),
            "MemorySwap": _bytes(service["memswap_limit"]),
            "NanoCpus": int(service.get("cpus", 0) * 10**9),
            "NetworkMode": self._named(next(iter(service["networks"]))),
            "OomScoreAdj": service["oom_score_adj"],
            "PidsLimit": service["pids_limit"],
            "ReadonlyRootfs": service["read_only"],
            "RestartPolicy": {"Name": word, "MaximumRetryCount": int(tries or 0)},
            "SecurityOpt": service["security_opt"],
            "Tmpfs": dict(each.split(":", 1) for each in service["tmpfs"]),
            "Ulimits": [
                {"Name": each, "Soft": soft, "Hard": hard}
                for each, (soft, hard) in sorted(soft_hard.items())
            ],
            "Mounts": [self._mount(each) for each in service["volumes"]],
        }  # fmt: skip
        return _sorted_mounts({**self.plain["HostConfig"], **said})

    def _config(self, service: Mapping[str, Any], short_id: str) -> dict[str, Any]:
        health = service.get("healthcheck")
        said: dict[str, Any] = {
            "Cmd": service.get("command"),
            "Entrypoint": service.get("entrypoint"),
            "Env": [f"{key}={value}" for key, value in service.get("environment", {}).items()],
            "Healthcheck": health and _health(health),
            "Hostname": service.get("hostname", short_id),
            "Image": service["image"],
            "Labels": service["labels"],
            "StopTimeout": _seconds(service["stop_grace_period"]),
            "User": service.get("user", ""),
            "WorkingDir": service.get("working_dir", ""),
            **UNATTACHED,
        }  # fmt: skip
        if said["Cmd"] is None:
            del said["Cmd"]
        elif isinstance(said["Cmd"], str):
            said["Cmd"] = said["Cmd"].split()
        return {**self.plain["Config"], **{key: _undoubled(each) for key, each in said.items()}}

    def _mount(self, mount: Mapping[str, Any]) -> dict[str, Any]:
        named = mount["type"] == "volume"
        return {
            "Type": mount["type"],
            "Source": self._named(mount["source"]) if named else mount["source"],
            "Target": mount["target"],
            "ReadOnly": mount["read_only"],
        }

    def _mounts(self, service: Mapping[str, Any]) -> list[tuple[str, str, str, bool]]:
        said = map(self._mount, service["volumes"])
        return sorted(
            (each["Type"], each["Source"], each["Target"], not each["ReadOnly"]) for each in said
        )

    def _networks(
        self, name: str, service: Mapping[str, Any], seen: Mapping[str, Any]
    ) -> Iterable[str]:
        found = seen["NetworkSettings"]["Networks"]
        known = {name, seen["Id"][:12], service.get("hostname", name), _name_of(seen)}
        said = {
            self._named(key): known | set((options or {}).get("aliases", ()))
            for key, options in service["networks"].items()
        }
        yield from _apart("", {"Networks": sorted(said)}, {"Networks": sorted(found)})
        for key, aliases in said.items():
            more = set(found[key]["Aliases"] or ()) - aliases
            yield from [f"{key}: is called {each}" for each in sorted(more)]
        if any(seen["NetworkSettings"]["Ports"].values()):
            yield "ports are published"

    def _named(self, name: str) -> str:
        return f"{self.project}_{name}"


def _apart(where: str, said: Mapping[str, Any], seen: Mapping[str, Any]) -> Iterable[str]:
    for key in sorted({*said, *seen}):
        one, other = said.get(key) or None, seen.get(key) or None
        if one != other:
            yield f"{where} {key}: {other!r}, where {one!r} is said"


def _sorted_mounts(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return a HostConfig whose lists without an order have one."""
    mounts = [{"ReadOnly": False, **each} for each in host.get("Mounts") or ()]
    limits = sorted(host.get("Ulimits") or (), key=lambda each: each["Name"])
    return {**host, "Mounts": sorted(mounts, key=lambda each: each["Target"]), "Ulimits": limits}


def _mounted(mounts: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, str, bool]]:
    return sorted(
        (each["Type"], each.get("Name") or each["Source"], each["Destination"], each["RW"])
        for each in mounts
        if each["Type"] != "tmpfs"
    )


def _name_of(seen: Mapping[str, Any]) -> str:
    return str(seen["Name"]).lstrip("/")


def _health(said: Mapping[str, Any]) -> dict[str, Any]:
    if said.get("disable"):
        return {"Test": ["NONE"]}
    return {
        HEALTH[key]: value if key in ("test", "retries") else _seconds(value) * SECONDS
        for key, value in said.items()
    }


def _bytes(said: str) -> int:
    return int(said[:-1]) * UNITS[said[-1]]


def _seconds(said: str) -> int:
    return int(said.removesuffix("s"))


def _undoubled(value: Any) -> Any:
    """Return what a document says once compose has read its doubled dollar signs."""
    if isinstance(value, str):
        return value.replace("$$", "$")
    if isinstance(value, list):
        return [_undoubled(each) for each in value]
    if isinstance(value, dict):
        return {key: _undoubled(each) for key, each in value.items()}
    return value
