"""The /etc of a sandbox that shows its machine's own /usr: the files of Atoll's, the names of the
machine's."""

from atoll.domain.agents.registry import AGENTS
from atoll.domain.interior.identity import MACHINE_ID
from atoll.domain.wall.interior import GIT_EMAIL, GIT_NAME
from atoll.domain.wall.proxy_settings import MAVEN_SETTINGS

COPIED = (
    "ssl/certs",
    "ssl/openssl.cnf",
    "pki/tls",
    "pki/ca-trust/extracted",
    "ca-certificates.conf",
    "crypto-policies",
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "timezone",
    "os-release",
    "debian_version",
    "services",
    "protocols",
    "mime.types",
    "inputrc",
    "terminfo",
    "fonts",
    "magic",
    "shells",
    "login.defs",
    "bash_completion",
    "vim",
    "nanorc",
    *(f"java-{release}-openjdk" for release in (8, 11, 17, 21, 25)),
    "maven/m2.conf",
    "maven/logging",
    "perl",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
)
"""Below the host's /etc: nothing here names a person, a password or a host of the network."""

_PROFILE = """\
# Login shells keep the PATH the sandbox was given.
export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"
[ -n "$BASH_VERSION" ] && [ -n "$PS1" ] && [ -r /etc/bash.bashrc ] && . /etc/bash.bashrc
"""

_BASHRC = """\
[ -z "$PS1" ] && return
shopt -s checkwinsize
PS1='\\[\\e[32m\\]\\u@\\h\\[\\e[0m\\]:\\[\\e[34m\\]\\w\\[\\e[0m\\]\\$ '
alias ls='ls --color=auto'
alias grep='grep --color=auto'
[ -r /usr/share/bash-completion/bash_completion ] && . /usr/share/bash-completion/bash_completion
"""

_CHROMIUM = """\
# Chromium's own sandbox needs user namespaces, which no sandbox of Atoll's has.
export CHROMIUM_FLAGS="$CHROMIUM_FLAGS --no-sandbox"
"""

AGENT_FILES = {seed.path: seed.content for agent in AGENTS for seed in agent.etc}
"""Policy and hooks of agents: read by whoever starts one, changed by nobody inside."""

OWN = {
    "passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    "agent:x:1000:1000:agent:/home/agent:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\ntty:x:5:\nagent:x:1000:\nnogroup:x:65534:\n",
    "resolv.conf": "",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
    "services: files\nprotocols: files\n",
    # Shared repositories belong to another uid; git drops the environment form of this
    # setting for upload-pack, so it has to be in the system's file.
    "gitconfig": "[safe]\n\tdirectory = *\n"
    f"[user]\n\tname = {GIT_NAME}\n\temail = {GIT_EMAIL}\n"
    "[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n",
    "profile": _PROFILE,
    "bash.bashrc": _BASHRC,
    "hosts": "",
    MACHINE_ID: "",
    "hostname": "sandbox\n",
    "environment": "",
    # Debian's launcher ends where this folder is empty. The host's may name its proxies and keys.
    "chromium.d/atoll": _CHROMIUM,
    **AGENT_FILES,
    # Debian's Maven reads it; the host's may hold passwords.
    "maven/settings.xml": MAVEN_SETTINGS,
}

ROOT_LINKS = ("bin", "sbin", "lib", "lib64", "lib32", "libx32")
"""Names in / that are links into /usr on a merged host, directories of their own elsewhere."""


def hosts_text(hostname: str) -> str:
    """Return /etc/hosts of one sandbox: localhost and its own name, in both address families."""
    return f"127.0.0.1 localhost {hostname}\n::1 localhost ip6-localhost ip6-loopback {hostname}\n"
