from pathlib import Path

import pytest

from atoll.adapters.blobs.settings import BlobSettings, BucketKey
from atoll.domain.errors import Failed, Invalid

B = "s3://bucket"
S3 = "https://s3.example"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"content_store": "relative"}, "content_store"),
        ({"content_store": "s3://B!"}, "content_store"),
        ({"content_store": "s3://"}, "content_store"),
        ({"content_store": "s3://bucket/../x"}, "content_store"),
        ({"content_endpoint": S3}, "content_endpoint"),
        ({"content_store": "/x", "content_credentials_file": "/k"}, "content_credentials_file"),
        ({"content_store": B, "content_endpoint": "http://s3.example"}, "content_endpoint"),
        ({"content_store": B, "content_endpoint": "https://a:b@x"}, "content_endpoint"),
        ({"content_store": B, "content_endpoint": "https://x:y"}, "content_endpoint"),
        ({"content_store": B, "content_region": "US east"}, "content_region"),
    ],
)
def test_wrong_settings_are_refused_by_name(wrong: dict[str, str], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        BlobSettings(**wrong)
    assert caught.value.field == field


def test_endpoint_on_this_machine_may_be_plain() -> None:
    for endpoint in ("http://127.0.0.1:8333", "http://localhost:8333", S3):
        BlobSettings(content_store="s3://bucket/atoll", content_endpoint=endpoint)


def test_key_is_read_from_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("id\nsecret\n")
    settings = BlobSettings(content_store=B, content_credentials_file=str(file))
    file.chmod(0o644)
    with pytest.raises(Failed, match="chmod 600"):
        settings.credentials({})
    file.chmod(0o600)
    assert settings.credentials({}) == BucketKey("id", "secret")
    assert "secret" not in repr(settings.credentials({}))
    for text in ("", "id", "id\nsecret\nmore", "id\nä"):
        file.write_text(text)
        with pytest.raises(Failed, match="two lines"):
            settings.credentials({})


def test_key_of_the_environment_is_taken_without_a_file() -> None:
    settings = BlobSettings(content_store=B)
    environ = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
    assert settings.credentials(environ) == BucketKey("id", "secret")
    with pytest.raises(Failed, match="content_credentials_file"):
        settings.credentials({"AWS_ACCESS_KEY_ID": "id"})
