"""A generator of code: an agent writes it in a sandbox by the job's instructions, and it is checked
there before anybody sees it.

    ATOLL_URL=… ATOLL_TOKEN=… python snuggle_inventor.py JOB INSTRUCTIONS AGENT CHECK SECRET...

`INSTRUCTIONS` is `owner/repo@ref:PATH`: the agent gets the file's words before its prompt. `CHECK`
is a line of shell that judges the code. Secrets are named; their values never enter the sandbox.
What was written stays inside, for a person to pull.
"""

import asyncio
import sys

from atoll.client import Atoll, Event

HARNESS = "snuggle-inventor"
OVER = ("done", "failed", "stopped")


async def prepare(atoll: Atoll, job_id: str, instructions_ref: str, secret_refs: list[str]) -> str:
    """Return the id of a sandbox that is ready. Raises `Invalid`, which names the reference that
    does not resolve before anything starts."""
    asked = await atoll.sandboxes.create(
        {
            "profile": "profile.build",
            "setup_metadata": {"instructions_ref": instructions_ref, "secret_refs": secret_refs},
            "consumer": {"actor": "agt", "harness": HARNESS, "job_id": job_id},
        }
    )
    return (await atoll.sandboxes.ready(asked.sandbox_id)).sandbox_id


async def generate(atoll: Atoll, sandbox: str, agent: str) -> str:
    """Have an agent write the code. Returns how it ended."""
    page = await atoll.events.page(latest=True, limit=1)
    after = page.events[0].position
    prompt = "Do what your instructions say, then end."
    await atoll.agents.start(sandbox, {"agent": agent, "mode": "machine", "prompt": prompt})
    async for event in atoll.events.follow(after=after, stream=f"sandbox:{sandbox}"):
        if isinstance(event, Event) and event.event_type == "agent.status":
            status = str(event.payload.value["status"])
            if status in OVER:
                return status
    return "lost"


async def invent(job: str, instructions: str, agent: str, check: str, secrets: list[str]) -> bool:
    """Generate and check; the sandbox stays for its person when the code is good, and ends with the
    job when it is not."""
    async with Atoll() as atoll:
        sandbox = await prepare(atoll, job, instructions, secrets)
        ended = await generate(atoll, sandbox, agent)
        judged = await atoll.execs.run(sandbox, {"shell": check})
        print(f"the agent is {ended}; the check ended with {judged.exit_code}")
        good = ended == "done" and judged.exit_code == 0
        if not good:
            await atoll.consumers.end(harness=HARNESS, job_id=job)
        async for kept in atoll.sandboxes.list(harness=HARNESS, job_id=job):
            print(kept.sandbox_id, kept.state)
        return good


if __name__ == "__main__":
    _, name, reference, program, line, *named = sys.argv
    sys.exit(0 if asyncio.run(invent(name, reference, program, line, named)) else 1)
