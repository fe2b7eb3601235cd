"""Uploads as browsers and curl send them, into a real sandbox."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.testing.server import TestServer
from tests.peers.api import Api, api_of
from tests.peers.browsers import chromium, needs_chromium

BIG_BYTES = 24 * 1024 * 1024


@pytest.fixture(scope="module")
def api(atoll: TestServer) -> Iterator[Api]:
    with api_of(atoll) as api:
        yield api


@pytest.fixture(scope="module")
def box(api: Api) -> str:
    return str(api.create()["sandbox_id"])


def _curl(api: Api, box: str, *form: str, path: str = "") -> subprocess.CompletedProcess[str]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not on this machine")
    said = [word for part in form for word in ("-F", part)]
    url = f"{api.server.url}/sessions/{box}/upload?path={path}"
    login = ["-H", f"Authorization: Bearer {api.server.token}"]
    argv = ["curl", "-s", "--fail-with-body", *login, *said, url]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def _post(api: Api, box: str, files: list[tuple[str, Any]], path: str = "") -> httpx.Response:
    return api.client.post(f"/sessions/{box}/upload", params={"path": path}, files=files)


def test_form_of_curl_stores_the_file_and_nothing_else(api: Api, box: str, tmp_path: Path) -> None:
    source = tmp_path / 'a "b" ä.txt'
    source.write_bytes(b"first\r\nsecond\r\n--")
    done = _curl(api, box, f'file=@"{str(source).replace(chr(34), chr(92) + chr(34))}"', path="in")
    assert done.returncode == 0, done.stdout
    assert api.run(box, "ls in; cat in/*").encode() == b'a "b" \xc3\xa4.txt\nfirst\r\nsecond\r\n--'


_SEND = """async ([address, text]) => {
  const form = new FormData();
  form.append('file', new File([text], 'from "the" page.txt'));
  form.append('file', new Blob([new Uint8Array([0, 13, 10, 255])]), 'bytes');
  const headers = {'Atoll-Page-Key': localStorage.getItem('atoll.page-key')};
  const answer = await fetch(address, {method: 'POST', body: form, headers});
  return [answer.status, (await answer.json()).entries.map(entry => entry.path)];
}"""


@pytest.mark.browser
@needs_chromium
async def test_form_of_a_browser_stores_its_files(api: Api, box: str) -> None:
    ticket = api.call("POST", "/auth/tickets")["ticket"]
    async with chromium() as browser:
        page = await browser.new_page()
        await page.goto(f"{api.server.url}/#login={ticket}")
        await page.get_by_role("navigation", name="Sandboxes").wait_for()
        address = f"/sessions/{box}/upload?path=page"
        told = await page.evaluate(_SEND, [address, "one\r\ntwo"])
    assert told == [201, ['page/from "the" page.txt', "page/bytes"]]
    assert api.run(box, "od -An -tx1 page/bytes; cat page/from*") == " 00 0d 0a ff\none\r\ntwo"


def test_file_of_24_mib_arrives_whole(api: Api, box: str, tmp_path: Path) -> None:
    source = tmp_path / "big.bin"
    source.write_bytes(os.urandom(BIG_BYTES))
    done = _curl(api, box, f"file=@{source}")
    assert done.returncode == 0, done.stdout
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    assert api.run(box, "sha256sum big.bin").split()[0] == digest


def test_several_files_land_beside_each_other_and_are_listed(api: Api, box: str) -> None:
    told = _post(api, box, [("f", ("one", b"1")), ("f", ("two", b"22"))], path="several/")
    assert told.status_code == 201
    assert [(e["path"], e["size"]) for e in told.json()["entries"]] == [
        ("several/one", 1),
        ("several/two", 2),
    ]
    again = _post(api, box, [("f", ("one", b"111"))], path="several")
    assert again.status_code == 200
    assert api.run(box, "cat several/one several/two") == "11122"


@pytest.mark.parametrize(
    ("hostile", "lands"),
    [("./../e", "e"), ("../../etc/cron.d/f", "f"), ("C:\\dir\\g", "g"), ("/workspace/h", "h")],
)
def test_hostile_file_name_lands_by_its_last_name(
    api: Api, box: str, hostile: str, lands: str
) -> None:
    told = _post(api, box, [("f", (hostile, b"x"))], path="hostile")
    assert [entry["path"] for entry in told.json()["entries"]] == [f"hostile/{lands}"]


@pytest.mark.parametrize("hostile", ["..", ".", "a/", "%2e%2e%2fx", "..%5c..%5cx", "x" * 300])
def test_file_name_that_cannot_be_one_is_refused(api: Api, box: str, hostile: str) -> None:
    before = api.run(box, "find /workspace | sort")
    told = _post(api, box, [("f", (hostile, b"x"))])
    assert told.status_code in (400, 422), told.text
    assert told.json()["code"] in ("invalid", "invalid_path")
    assert api.run(box, "find /workspace | sort") == before


def test_form_that_breaks_off_leaves_no_file(api: Api, box: str) -> None:
    head = b'--b\r\nContent-Disposition: form-data; name="f"; filename="cut"\r\n\r\n'
    told = api.client.post(
        f"/sessions/{box}/upload",
        content=head + b"z" * 1_000_000,
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )
    assert told.status_code in (400, 422), told.text
    assert "broke off before its end" in told.json()["detail"]
    assert api.run(box, "find /workspace -name '*cut*'") == ""


def test_field_that_is_no_file_is_refused_by_its_name(api: Api, box: str) -> None:
    done = _curl(api, box, "note=hello")
    assert done.returncode != 0
    assert "'note' is not a file" in done.stdout


def test_plain_body_is_the_file_itself(api: Api, box: str) -> None:
    told = api.client.post(f"/sessions/{box}/upload?path=plain/x", content=b"as it is")
    assert told.status_code == 201
    assert told.json()["path"] == "plain/x"
    assert api.run(box, "cat plain/x") == "as it is"
