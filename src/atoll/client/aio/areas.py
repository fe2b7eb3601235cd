"""The areas of the API for programs: each method is one of the blocking client's, awaited.

What a program wants otherwise than a command line (whole lists over many pages, files in memory)
is in `work` and `records`.
"""

from atoll.client.agents import AgentCatalogue, Agents
from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.changes import Commits, PullRequests, WorkingTrees
from atoll.client.organizations import Organizations
from atoll.client.outside.drive import Drives
from atoll.client.outside.extensions import Extensions
from atoll.client.projects import Projects
from atoll.client.workers.desktops import Desktops


class AsyncExtensions(AsyncNoun[Extensions]):
    """The backends, and what their vendors rent to us."""

    blocking = Extensions
    list = Awaited(Extensions.list)
    get = Awaited(Extensions.get)
    strays = Awaited(Extensions.strays)
    end_strays = Awaited(Extensions.end_strays)


class AsyncOrganizations(AsyncNoun[Organizations]):
    """Organizations, their members, invitations and quotas; None is the caller's own."""

    blocking = Organizations
    list = Awaited(Organizations.list)
    get = Awaited(Organizations.get)
    oversee = Awaited(Organizations.oversee)
    workers = Awaited(Organizations.workers)
    backends = Awaited(Organizations.backends)
    stop = Awaited(Organizations.stop)
    list_running = Awaited(Organizations.list_running)
    halt = Awaited(Organizations.halt)
    create = Awaited(Organizations.create)
    members = Awaited(Organizations.members)
    change = Awaited(Organizations.change)
    remove = Awaited(Organizations.remove)
    leave = Awaited(Organizations.leave)
    own_quota = Awaited(Organizations.own_quota)
    quotas = Awaited(Organizations.quotas)
    set_quota = Awaited(Organizations.set_quota)
    network_bounds = Awaited(Organizations.network_bounds)
    bound_networks = Awaited(Organizations.bound_networks)
    invitations = Awaited(Organizations.invitations)
    invite = Awaited(Organizations.invite)
    uninvite = Awaited(Organizations.uninvite)
    accept = Awaited(Organizations.accept)
    realms = Awaited(Organizations.realms)
    add_service_account = Awaited(Organizations.add_service_account)
    waiting = Awaited(Organizations.waiting)
    give = Awaited(Organizations.give)


class AsyncProjects(AsyncNoun[Projects]):
    """Project files of repositories, and decisions on them."""

    blocking = Projects
    list = Awaited(Projects.list)
    read = Awaited(Projects.read)
    decide = Awaited(Projects.decide)
    run_setup = Awaited(Projects.run_setup)
    begin_task = Awaited(Projects.begin_task)
    forget = Awaited(Projects.forget)


class AsyncCommits(AsyncNoun[Commits]):
    """The commits of a sandbox's repositories."""

    blocking = Commits
    list = Awaited(Commits.list)
    show = Awaited(Commits.show)


class AsyncPullRequests(AsyncNoun[PullRequests]):
    """Pull requests of a sandbox's branches."""

    blocking = PullRequests
    create = Awaited(PullRequests.create)
    list = Awaited(PullRequests.list)
    get = Awaited(PullRequests.get)


class AsyncDrives(AsyncNoun[Drives]):
    """The caller's drive, and files between it and workspaces."""

    blocking = Drives
    get = Awaited(Drives.get)
    disconnect = Awaited(Drives.disconnect)
    files = Awaited(Drives.files)
    bring = Awaited(Drives.bring)
    send = Awaited(Drives.send)


class AsyncWorkingTrees(AsyncNoun[WorkingTrees]):
    """The working trees of a sandbox."""

    blocking = WorkingTrees
    changes = Awaited(WorkingTrees.changes)
    diff = Awaited(WorkingTrees.diff)
    checkpoints = Awaited(WorkingTrees.checkpoints)
    restore = Awaited(WorkingTrees.restore)
    discard = Awaited(WorkingTrees.discard)
    commit = Awaited(WorkingTrees.commit)


class AsyncAgentCatalogue(AsyncNoun[AgentCatalogue]):
    """The agents of an installation."""

    blocking = AgentCatalogue
    list = Awaited(AgentCatalogue.list)
    find = Awaited(AgentCatalogue.find)
    install = Awaited(AgentCatalogue.install)


class AsyncDesktops(AsyncNoun[Desktops]):
    """A person's own machines, which take their workers."""

    blocking = Desktops
    link = Awaited(Desktops.link)
    list = Awaited(Desktops.list)
    unlink = Awaited(Desktops.unlink)


class AsyncAgents(AsyncNoun[Agents]):
    """The agents of a sandbox. An agent's id is that of its terminal."""

    blocking = Agents
    list = Awaited(Agents.list)
    start = Awaited(Agents.start)
    act = Awaited(Agents.act)
    settings = Awaited(Agents.settings)
    change = Awaited(Agents.change)
    ask = Awaited(Agents.ask)
    cards = Awaited(Agents.cards)
    answer = Awaited(Agents.answer)
