"""Routes of SSH keys."""

from atoll.domain.ssh.key import SshKey
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.ssh import keys as api
from atoll.wire.api.ssh.keys import SshKeys

operations = Operations()


@operations.serves(SshKeys.add)
async def add_ssh_key(context: RequestContext, body: api.SshKeyBody) -> api.SshKeyView:
    return _view(await context.atoll.ssh.keys.add(context.caller, body.key, body.name))


@operations.serves(SshKeys.list)
async def list_ssh_keys(context: RequestContext) -> api.SshKeyList:
    return api.SshKeyList(keys=list(map(_view, await context.atoll.ssh.keys.list(context.caller))))


@operations.serves(SshKeys.remove)
async def remove_ssh_key(context: RequestContext, ssh_key: str) -> None:
    await context.atoll.ssh.keys.remove(context.caller, ssh_key)


def _view(key: SshKey) -> api.SshKeyView:
    return answer_of(api.SshKeyView, key, key_id=key.id, kind=key.key.kind)
