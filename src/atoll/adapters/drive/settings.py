"""Settings of Google Drive: the OAuth client by which this installation asks for consent."""

import re
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.auth.private_file import read_private
from atoll.domain.errors import Failed, Invalid

MAX_SECRET_BYTES = 4096
_CLIENT = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class DriveSettings:
    """Settings of Google Drive, which is off without a client. Raises `Invalid` for half of one.

    `drive_client_id`: the id of an OAuth client at Google.
    `drive_client_secret_file`: a file, mode 0600, that holds its secret; Google wants one of a web
    application.
    """

    drive_client_id: str | None = None
    drive_client_secret_file: str | None = None

    def __post_init__(self) -> None:
        if self.drive_client_id is not None and not _CLIENT.fullmatch(self.drive_client_id):
            raise Invalid("drive_client_id is one word of ASCII", field="drive_client_id")
        if self.drive_client_secret_file and self.drive_client_id is None:
            raise Invalid(
                "drive_client_secret_file is the secret of drive_client_id: set both",
                field="drive_client_id",
            )

    def client_secret(self) -> str:
        """Return the client's secret, empty where there is none. Blocking. Raises `Failed` for a
        file that is missing, open to others, or no line of text."""
        if self.drive_client_secret_file is None:
            return ""
        path = Path(self.drive_client_secret_file)
        data = read_private(path, MAX_SECRET_BYTES)
        text = (data or b"").decode("ascii", errors="replace").strip()
        if not _CLIENT.fullmatch(text):
            raise Failed(f"{path.name} (drive_client_secret_file) holds no secret of one line")
        return text
