"""Media types of bodies and answers."""

from typing import Final

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
SSE: Final = "text/event-stream"
BYTES: Final = "application/octet-stream"
TAR: Final = "application/x-tar"
YAML: Final = "application/yaml"
FORM: Final = "multipart/form-data"
HTML: Final = "text/html"
PROBLEM: Final = "application/problem+json"
