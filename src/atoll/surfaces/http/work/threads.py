"""Routes of review threads: open, answer, settle and send them, and find where they are now."""

from atoll.domain.work.anchor import Anchor
from atoll.domain.work.thread import Author, Remark, ReviewThread, is_unsent
from atoll.services.library.changes import Comparison
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.work import threads as api
from atoll.wire.api.work.threads import ReviewThreads
from atoll.wire.words.library import Against

operations = Operations()


@operations.serves(ReviewThreads.list)
async def list_review_threads(context: RequestContext, sandbox: str) -> api.ReviewThreadList:
    threads = await context.atoll.work.threads.list(context.caller, sandbox)
    return api.ReviewThreadList(threads=[_view(thread) for thread in threads])


@operations.serves(ReviewThreads.places)
async def list_thread_places(
    context: RequestContext,
    sandbox: str,
    *,
    path: str,
    old_path: str | None = None,
    repo: int = 0,
    against: Against = Against.BASE,
    checkpoint: int | None = None,
) -> api.ThreadPlaces:
    paths = (path,) if old_path is None else (path, old_path)
    wanted = Comparison(repo, against, paths, checkpoint)
    places = await context.atoll.work.threads.places(context.caller, sandbox, wanted)
    return api.ThreadPlaces(
        places=[api.ThreadPlace(thread_id=thread_id, line=line) for thread_id, line in places]
    )


@operations.serves(ReviewThreads.open)
async def open_review_thread(
    context: RequestContext, sandbox: str, body: api.ThreadBody
) -> api.ReviewThreadView:
    anchor = Anchor(body.repo, body.path, body.side, body.line, body.lines)
    return _view(await context.atoll.work.threads.open(context.caller, sandbox, anchor, body.text))


@operations.serves(ReviewThreads.resolve)
async def resolve_review_thread(
    context: RequestContext, sandbox: str, thread: str, body: api.ThreadChangeBody
) -> api.ReviewThreadView:
    threads = context.atoll.work.threads
    return _view(await threads.resolve(context.caller, sandbox, thread, resolved=body.resolved))


@operations.serves(ReviewThreads.reply)
async def reply_to_review_thread(
    context: RequestContext, sandbox: str, thread: str, body: api.RemarkBody
) -> api.ReviewThreadView:
    return _view(await context.atoll.work.threads.reply(context.caller, sandbox, thread, body.text))


@operations.serves(ReviewThreads.reword)
async def reword_review_remark(
    context: RequestContext, sandbox: str, thread: str, remark: str, body: api.RemarkBody
) -> api.ReviewThreadView:
    threads = context.atoll.work.threads
    return _view(await threads.reword(context.caller, sandbox, thread, remark, body.text))


@operations.serves(ReviewThreads.withdraw)
async def delete_review_remark(
    context: RequestContext, sandbox: str, thread: str, remark: str
) -> None:
    await context.atoll.work.threads.withdraw(context.caller, sandbox, thread, remark)


@operations.serves(ReviewThreads.send)
async def send_review_threads(
    context: RequestContext, sandbox: str, body: api.SendThreadsBody
) -> api.ReviewThreadList:
    threads = context.atoll.work.threads
    sent = await threads.send(context.caller, sandbox, body.agent_id, body.threads)
    return api.ReviewThreadList(threads=[_view(thread) for thread in sent])


def _view(thread: ReviewThread) -> api.ReviewThreadView:
    anchor, resolved, sent = thread.anchor, thread.resolved, thread.sent
    return answer_of(
        api.ReviewThreadView,
        thread,
        thread_id=thread.id,
        repo=anchor.repo,
        path=anchor.path,
        side=anchor.side,
        line=anchor.line,
        lines=list(anchor.lines),
        remarks=[_remark_view(remark) for remark in thread.remarks],
        resolved=None
        if resolved is None
        else answer_of(api.ResolutionView, resolved, by=resolved.by.id, by_name=_name(resolved.by)),
        sent=None
        if sent is None
        else answer_of(
            api.ThreadSendingView,
            sent,
            by=sent.by.id,
            by_name=_name(sent.by),
            agent_id=sent.terminal,
        ),
        unsent=is_unsent(thread),
    )


def _remark_view(remark: Remark) -> api.RemarkView:
    author = remark.author
    return answer_of(
        api.RemarkView,
        remark,
        remark_id=remark.id,
        author=author.id,
        author_name=_name(author),
    )


def _name(author: Author) -> str | None:
    return author.name or None
