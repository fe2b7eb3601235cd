"""The way to the egress door for programs that read no `HTTP_PROXY`.

Java takes it from the `net.properties` of its JDK or from system properties, Maven and Gradle from
files of their own, Node's `fetch` from the proxy variables only where another one says so. The door
does not intercept TLS, so nobody needs another truststore.
"""

from collections.abc import Iterable

DOOR_HOST, DOOR_PORT = "127.0.0.1", 3128

DIRECT = ("localhost", "127.*", "[::1]")
"""The hosts that a JVM reaches directly, as Java spells them."""

JAVA_OPTIONS = "JAVA_TOOL_OPTIONS"
"""The variable that every JVM reads, and reports on standard error."""

NODE: tuple[tuple[str, str], ...] = (("NODE_USE_ENV_PROXY", "1"),)
"""Node from 22.21 and 24 uses the proxy variables by it; older ones ignore it."""

_PROPERTIES = tuple(
    (f"{scheme}.{name}", value)
    for scheme in ("http", "https")
    for name, value in (("proxyHost", DOOR_HOST), ("proxyPort", str(DOOR_PORT)))
)
_NOT_PROXIED = "http.nonProxyHosts"

NET_PROPERTIES = "".join(
    f"{name}={value}\n" for name, value in (*_PROPERTIES, (_NOT_PROXIED, "|".join(DIRECT)))
)
"""The end of a JDK's `net.properties`: its default where no system property says otherwise."""

NET_PROPERTIES_PLACES = (
    "lib/jvm/*/conf/net.properties",
    "lib/jvm/*/lib/net.properties",
    "lib/jvm/*/jre/lib/net.properties",
)
"""The places of that file below /usr, in JDKs since 9 and of 8."""

MAVEN_SETTINGS = f"""\
<!-- The way to Atoll's egress door. -->
<settings>
  <proxies>
    <proxy>
      <id>atoll</id>
      <active>true</active>
      <protocol>http</protocol>
      <host>{DOOR_HOST}</host>
      <port>{DOOR_PORT}</port>
      <nonProxyHosts>{"|".join(DIRECT)}</nonProxyHosts>
    </proxy>
    <proxy>
      <id>atoll-tls</id>
      <active>true</active>
      <protocol>https</protocol>
      <host>{DOOR_HOST}</host>
      <port>{DOOR_PORT}</port>
      <nonProxyHosts>{"|".join(DIRECT)}</nonProxyHosts>
    </proxy>
  </proxies>
</settings>
"""

HOME_FILES = {
    ".m2/settings.xml": MAVEN_SETTINGS,
    ".gradle/gradle.properties": "# The way to Atoll's egress door.\n"
    + "".join(f"systemProp.{line}\n" for line in NET_PROPERTIES.splitlines()),
}
"""Files of a fresh home, by place; whoever works there may change or remove them."""


def java_options(*others: str, direct: Iterable[str] = ()) -> str:
    """Return the options by which a JVM finds the door, and `others`, which take precedence.
    `direct` names hosts that need no door."""
    hosts = "|".join((*DIRECT, *direct))
    said = (f"-D{name}={value}" for name, value in (*_PROPERTIES, (_NOT_PROXIED, hosts)))
    return " ".join((*said, *filter(None, others)))
