from dataclasses import replace

import msgspec

from atoll.adapters.zygote.environment import environment, environment_with_image
from atoll.adapters.zygote.start import agents_of, host_mounts_of, hostname
from atoll.domain.files.host_mount import HostMount
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.tools.rule import ProfileTools, ToolTransport
from atoll.ports.extension import Provision
from atoll.wire.zygote import messages as wire

IMAGE = (("PATH", "/opt/node/bin:/usr/bin"), ("HOME", "/root"))


def test_hostname_of_any_name_is_one() -> None:
    assert hostname("repo_feature/x.y") == "repo-feature-x-y"
    assert hostname("---") == "sandbox"
    assert len(hostname("a" * 200)) == 63


def test_environment_holds_broker_and_placeholders_and_takes_wishes() -> None:
    env = dict(environment("sb_a", (("LANG", "de"),), (("X", "1"),)))
    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8082/broker/anthropic"
    assert env["OPENAI_BASE_URL"] == "http://127.0.0.1:8082/broker/openai/v1"
    assert (env["LANG"], env["X"], env["HOME"]) == ("de", "1", "/home/agent")


def test_environment_takes_an_image_s_path_and_leaves_ours() -> None:
    env = dict(environment_with_image("sb_a", IMAGE, (("X", "1"),)))
    assert env["HOME"] == "/home/agent"
    words = env["PATH"].split(":")
    assert words.index("/home/agent/.local/bin") < words.index("/opt/node/bin")
    assert words.index("/opt/node/bin") < words.index("/usr/local/bin")
    assert env["X"] == "1"


def test_environment_names_the_door_to_what_reads_no_proxy_variable() -> None:
    env = dict(environment_with_image("sb_a", (), ()))
    assert env["NODE_USE_ENV_PROXY"] == "1"
    # Also with the machine's own root: a JDK of SDKMAN or Gradle lies in no place known before.
    assert env["JAVA_TOOL_OPTIONS"].startswith("-Dhttp.proxyHost=127.0.0.1 ")


def test_environment_adds_the_door_to_the_options_of_java() -> None:
    image, own = (("JAVA_TOOL_OPTIONS", "-Xshare:off"),), (("JAVA_TOOL_OPTIONS", "-Xmx1g"),)
    options = dict(environment_with_image("sb_a", image, own, direct=("db",)))["JAVA_TOOL_OPTIONS"]
    assert options.split() == [
        "-Dhttp.proxyHost=127.0.0.1",
        "-Dhttp.proxyPort=3128",
        "-Dhttps.proxyHost=127.0.0.1",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|127.*|[::1]|db",
        "-Xshare:off",
        "-Xmx1g",
    ]
    silent = dict(environment_with_image("sb_a", image, (("JAVA_TOOL_OPTIONS", ""),)))
    assert silent["JAVA_TOOL_OPTIONS"] == ""


def test_runtime_is_told_of_the_agents_its_sandbox_may_use() -> None:
    known = tuple(wire.Agent(name=name, argv=(name,)) for name in ("a", "b"))
    request = Provision(SandboxId("sb_a"), 1, "x", Profile("p", "1"))
    assert agents_of(request, known) == known
    assert agents_of(replace(request, agents=frozenset({"b"})), known) == known[1:]


def test_hooks_are_arguments_only_where_the_wall_has_the_etc_of_its_image() -> None:
    known = (wire.Agent(name="a", argv=("a",), watch_argv=("--hooks",)),)
    request = Provision(SandboxId("sb_a"), 1, "x", Profile("p", "1"))
    assert agents_of(request, known) == (wire.Agent(name="a", argv=("a",)),)
    assert agents_of(request, known, own_etc=False) == known


def test_profile_without_tools_tells_no_agent_of_them() -> None:
    known = (wire.Agent(name="a", argv=("a",), mcp=wire.AgentTools(argv=("--mcp",))),)
    request = Provision(SandboxId("sb_a"), 1, "x", Profile("p", "1"))
    assert agents_of(request, known) == known
    stdio = replace(request.profile, mcp=ProfileTools(transport=ToolTransport.STDIO))
    both = (msgspec.structs.replace(known[0], mcp_stdio=wire.AgentTools(argv=("--stdio",))),)
    assert agents_of(request, both) == known
    (told,) = agents_of(replace(request, profile=stdio), both)
    assert told == wire.Agent(name="a", argv=("a",), mcp=wire.AgentTools(argv=("--stdio",)))
    without = replace(request.profile, mcp=ProfileTools(enabled=False))
    (told,) = agents_of(replace(request, profile=without), known)
    assert told == wire.Agent(name="a", argv=("a",))
    assert agents_of(replace(request, maintenance_seconds=60), known) == ()


def test_host_mounts_are_passed_on_whole() -> None:
    mount = HostMount("/srv/data", "/data", writable=True)
    request = Provision(SandboxId("sb_a"), 1, "x", Profile("p", "1"), host_mounts=(mount,))
    passed = host_mounts_of(request)
    assert [(one.source, one.target, one.writable) for one in passed] == [
        ("/srv/data", "/data", True)
    ]
