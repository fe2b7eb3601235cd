"""Words of the messages to the zygote: names, paths and numbers, each with its bounds."""

from typing import Annotated

import msgspec

BoxId = Annotated[str, msgspec.Meta(pattern=r"\Asb_[a-z0-9_-]{1,37}\Z")]
"""The name of a directory and a group: the prefix keeps it apart from the zygote's own (`zygote`,
`next-uid`, `template-…`)."""

SnapshotName = Annotated[str, msgspec.Meta(pattern=r"\Asnap_[a-z0-9_-]{1,40}\Z")]
"""The name of a snapshot's directory."""

HostName = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")]
Text = Annotated[str, msgspec.Meta(max_length=16 * 1024, pattern=r"\A[^\x00]*\Z")]
AbsolutePath = Annotated[str, msgspec.Meta(pattern=r"\A/[^\x00]*\Z", max_length=4096)]
Refspec = Annotated[
    str,
    msgspec.Meta(
        pattern=r"\A\+?refs/[A-Za-z0-9][^\s\x00-\x1f\x7f:^~?\[\\]*"
        r":refs/[A-Za-z0-9][^\s\x00-\x1f\x7f:^~?\[\\]*\Z",
        max_length=1024,
    ),
]
GrantName = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{32}\Z")]
"""The name of a grant of a mount, which the command line writes below the home's `grants/`."""

RequestId = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9._:-]{0,128}\Z")]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**50)]
