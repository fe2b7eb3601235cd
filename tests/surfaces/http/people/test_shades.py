from atoll.wire.contract.policy import decode_policy
from atoll.wire.words.terminals import Shade
from tests.surfaces.http.world import World, client_of

ACTS = {
    "PUT /v1/me/shade": {"shade": "test_background_of_the_page_is_told_to_its_owners_sandboxes"}
}


def told(atoll: World) -> list[Shade | None]:
    """Return the backgrounds in the policies that runtimes were sent, without repeats."""
    sent = [body for _, path, _, body in atoll.runtime.asked if path == "/policy"]
    return list(dict.fromkeys(decode_policy(body).shade for body in sent))


async def test_background_of_the_page_is_told_to_its_owners_sandboxes(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await client.post("/v1/sandboxes?wait=ready", json={"name": "box"})
        assert Shade.LIGHT not in told(atoll)
        for shade in ("light", "light", "dark"):
            said = await client.put("/v1/me/shade", json={"shade": shade})
            assert said.status_code == 204, said.text
        assert told(atoll)[-2:] == [Shade.LIGHT, Shade.DARK]
        await client.post("/v1/sandboxes?wait=ready", json={"name": "later"})
    assert told(atoll)[-1] is Shade.DARK


async def test_no_other_background_is_taken(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for wrong in ("pink", "", None, 1):
            assert (await client.put("/v1/me/shade", json={"shade": wrong})).status_code == 422
    async with client_of(atoll.url) as client:
        assert (await client.put("/v1/me/shade", json={"shade": "dark"})).status_code == 401
