"""Words of the contract, each a list of the values a field may have.

Apart from the bodies, whose dictionaries take longer to load than `atoll list` may.
"""

from typing import Literal

Mode = Literal["none", "limited", "host-only", "full"]
WorkspaceAccess = Literal["none", "ro", "rw"]
Reach = Literal["once", "sandbox", "organization"]
Role = Literal["viewer", "controller", "owner"]
ActorKind = Literal["adm", "agt", "atm"]
Action = Literal["pause", "resume", "stop", "interrupt", "start", "yield", "unlock"]
IsolationLevel = Literal["none", "policy", "container", "microvm"]
Strategy = Literal[
    "desktop_preferred", "prefer-self-hosted", "lowest-cost", "lowest-latency", "explicit"
]
