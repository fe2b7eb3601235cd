"""Package registries by name: the hosts of each `preset:` in a profile's `network.egress`.

Data only. A client that may fetch from a registry can often also publish there or name a package of
its own: a preset is a convenience, not a filter on what leaves.
"""

from collections.abc import Mapping

PRESETS: Mapping[str, tuple[str, ...]] = {
    "pypi": ("pypi.org", "files.pythonhosted.org"),
    "npm": ("registry.npmjs.org", "registry.yarnpkg.com"),
    "debian": (
        "deb.debian.org",
        "security.debian.org",
        "GET,HEAD http://deb.debian.org/debian",
        "GET,HEAD http://deb.debian.org/debian-security",
        "GET,HEAD http://security.debian.org/debian-security",
    ),
    "crates": ("index.crates.io", "static.crates.io", "crates.io"),
    "github": (
        "github.com",
        "api.github.com",
        "codeload.github.com",
        "raw.githubusercontent.com",
        "objects.githubusercontent.com",
        "release-assets.githubusercontent.com",
    ),
}
