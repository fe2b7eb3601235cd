"""Requests of a worker about the threads of an agent that speaks ACP, in Codex's words."""

from dataclasses import replace

from atoll.domain.agents.acp.sessions import AcpSessions
from atoll.domain.agents.acp.settings import AcpSettings
from atoll.domain.agents.acp.threads import AcpReplay, AcpThread, AcpThreads, sessions_of
from atoll.domain.agents.conversation import Reply, Step, busy_error
from atoll.domain.agents.lenient_json import Message, read_int, read_text
from atoll.domain.agents.threads import requests
from atoll.domain.agents.threads.thread import thread_of

MAX_THREADS = 100


class AcpThreadRequests:
    """Serves requests for threads. `key` names a request in its answer."""

    def __init__(
        self, cwd: str, sessions: AcpSessions, threads: AcpThreads, settings: AcpSettings
    ) -> None:
        self._cwd = cwd
        self._sessions = sessions
        self._threads = threads
        self._settings = settings

    def start(self, key: str, params: Message) -> Step:
        """Start a thread; the first is the session that the conversation began with."""
        del params
        first = self._threads.first()
        if first is not None:
            return self._give(key, first, new=True)

        def give_new(result: Message, error: str) -> Step:
            if error:
                return Step(replies=(Reply(key, error={"message": error}),))
            thread = self._threads.opened(read_text(result, "sessionId"))
            step = self._give(key, thread, new=True)
            return replace(step, settings=self._settings.opened(result))

        return Step(send=(self._sessions.start(give_new),))

    def resume(self, key: str, params: Message) -> Step:
        """Resume a thread by its id. Raises `Invalid`, `Conflict`."""
        session = read_text(params, "threadId")
        thread = self._threads.find(session)
        if thread is not None:
            return self._give(key, thread)
        self._sessions.check_loadable(session)

        def give_loaded(result: Message, error: str) -> Step:
            if error:
                return Step(replies=(requests.no_such_thread(key, session, error),))
            step = self._give(key, self._threads.opened(session))
            return replace(step, settings=self._settings.opened(result))

        return Step(send=(self._sessions.load(session, give_loaded),))

    def list(self, key: str, params: Message) -> Step:
        """List threads: the agent's, else those in which something was said here."""
        most = max(1, min(read_int(params, "limit") or MAX_THREADS, MAX_THREADS))
        if not self._sessions.lists:
            data = self._threads.listed(self._cwd)[:most]
            return Step(replies=requests.answer_request(key, data=data, nextCursor=None))

        def reply(result: Message, error: str) -> Step:
            if error:
                return Step(replies=(Reply(key, error={"message": error}),))
            data = sessions_of(result, self._cwd)[:most]
            return Step(replies=requests.answer_request(key, data=data, nextCursor=None))

        return Step(send=(self._sessions.list(reply),))

    def list_loaded(self, key: str, params: Message) -> Step:
        """List the threads that a worker has."""
        del params
        return Step(replies=requests.answer_thread_ids(key, self._threads.open))

    def read(self, key: str, params: Message) -> Step:
        """Read a thread as the agent tells it again; its turn must have ended. Raises `Invalid`,
        `Conflict`."""
        session = read_text(params, "threadId")
        thread = self._threads.find(session)
        view = thread_of(session, self._cwd, thread.preview if thread is not None else "")
        if thread is not None and params.get("includeTurns") is not True:
            return Step(replies=requests.answer_request(key, thread=view))
        self._sessions.check_loadable(session)
        if thread is not None and self._sessions.is_busy(thread):
            raise busy_error()
        replay = AcpReplay(session)

        def reply(result: Message, error: str) -> Step:
            del result
            if error:
                return Step(replies=(requests.no_such_thread(key, session, error),))
            turns = requests.turns_of(replay.ends())
            view["preview"] = view["preview"] or requests.preview_of(turns)
            if params.get("includeTurns") is True:
                view["turns"] = requests.fitting(turns)
            return Step(replies=requests.answer_request(key, thread=view))

        return Step(send=(self._sessions.load(session, reply, replay),))

    def _give(self, key: str, thread: AcpThread, *, new: bool = False) -> Step:
        """Give a worker a thread."""
        self._threads.give(thread)
        view = thread_of(thread.session, self._cwd, thread.preview)
        events = (thread.events.opened(self._cwd),) if new else ()
        return Step(replies=requests.answer_request(key, thread=view, cwd=self._cwd), events=events)
