"""What happens in a day: a person's acts, and ends of links, daemons, machines and hosts.

A `Known` says what must be true of a sandbox. Each act changes what is known, and then everything
is compared with what the API and the command line say, neighbours included.
"""

import os
import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import Home
from atoll.zygote.records.record import load, save
from tests.e2e.day.places import KINDS, STACK, Places
from tests.peers.api import api_of, until
from tests.peers.machines.microvm import qemu_of

LIVES = "(setsid sleep 86397 >/dev/null 2>&1 & echo $! > pid); echo {mark} > mark"
STILL = "grep -q 86397 /proc/$(cat pid)/cmdline && echo same || echo new; cat mark"
PATIENCE = 60.0
HOST_OF = {"ssh": "box", "compose-ssh": "stacks"}
RUNS = ("ready", "active")


@dataclass
class Known:
    """A sandbox. `why` is a pattern that its reason must match."""

    kind: str
    sandbox: str
    mark: str
    states: tuple[str, ...] = RUNS
    why: str = ""

    @property
    def runs(self) -> bool:
        """Whether it runs and is reached."""
        return self.states == RUNS and not self.why


@dataclass
class Day:
    """The day, in an order that the dice give."""

    places: Places
    dice: random.Random
    known: list[Known] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    said: set[str] = field(default_factory=set)
    made: int = 0

    def spend(self, acts: int) -> None:
        """Let so many things happen, each kind once before any again."""
        kinds = (
            self.create_one,
            self.stop_one,
            self.start_one,
            self.destroy_one,
            self.kill_a_runtime,
            self.kill_an_inside,
            self.kill_insides_unseen,
            self.reboot_host,
            self.restart_an_sshd,
            self.host_is_away,
            self.host_reboots_while_away,
            self.restart_engine,
            self.kill_engine,
            self.kill_control,
            self.kill_zygote,
            self.shut_down_here,
            self.cut_power_here,
            self.stop_while_away,
            self.destroy_while_away,
        )
        left = [*kinds]
        for number in range(acts):
            left = left or [*kinds]
            act = left.pop(self.dice.randrange(len(left)))
            print(f"{number}: {act.__name__}", flush=True)
            act()
            self.done[act.__name__] += 1
            self.check()
            for one in self.known:
                if one.states == ("failed",) and self.dice.random() < 0.6:
                    self.start(one)
            self.check()

    def create_one(self) -> None:
        """Make one more, of a kind that there is little of."""
        counts = Counter(one.kind for one in self.known)
        room = [kind for kind in KINDS if counts[kind] < (1 if kind == "microvm" else 2)]
        if room:
            self.create(self.dice.choice(room))

    def stop_one(self) -> None:
        """Stop one that runs."""
        self._to_one(self.on(KINDS), self.stop)

    def start_one(self) -> None:
        """Start one that does not."""
        self._to_one([one for one in self.known if one.states != RUNS], self.start)

    def destroy_one(self) -> None:
        """Destroy any one."""
        self._to_one(self.known, self.destroy)

    def kill_a_runtime(self) -> None:
        """Kill the runtime of one."""
        self._to_one(self.on(KINDS), self.kill_runtime)

    def kill_an_inside(self) -> None:
        """Kill what one consists of."""
        self._to_one(self.on(KINDS), self.kill_inside)

    def kill_insides_unseen(self) -> None:
        """Kill what each consists of while no control plane sees it."""

        def meanwhile() -> None:
            for one in self.on(KINDS):
                self.kill_inside(one)

        self.kill_control(meanwhile)

    def restart_an_sshd(self) -> None:
        """End all connections to one host."""
        self.restart_sshd(self.dice.choice(("box", "stacks")))

    def host_is_away(self) -> None:
        """Lose a host, ask for what is on it, and find it again."""
        name = self.dice.choice(("box", "stacks"))
        self.lose_host(name)
        self.check()
        with api_of(self.places.server) as api:
            for one in self.known:
                if HOST_OF.get(one.kind) != name:
                    continue
                path = f"/v1/sandboxes/{one.sandbox}"
                if one.states == RUNS:
                    answer = api.client.post(f"{path}/exec", json={"shell": "true"})
                    known = (f"host {name}", "its machine is not reached")
                    assert any(words in answer.text for words in known), answer.text
                else:
                    answer = api.client.post(f"{path}/start?wait=true", json={})
                    self._became(one, ("failed",), f"host {name}")
                self._note(f"{one.kind}: asked while away: {answer.text[:300]}")
        self.find_host(name)

    def host_reboots_while_away(self) -> None:
        """Lose the host of plain sandboxes, which comes back started anew."""
        there = self.on(("ssh",))
        self.lose_host("box")
        self.check()
        self.places.hosts["box"].box.reboot()
        self.check()
        self.find_host("box")
        for one in there:
            self._became(one, ("failed",), "host box: that machine was started anew")

    def stop_while_away(self) -> None:
        """Stop one on a host that is away."""
        self._while_away("stop", ("stopped",))

    def destroy_while_away(self) -> None:
        """Destroy one on a host that is away: what stands there goes once it is back."""
        self._while_away("destroy", ("destroyed",))

    def _while_away(self, verb: str, then: tuple[str, ...]) -> None:
        some = self.on(HOST_OF)
        if not some:
            return
        one = self.dice.choice(some)
        name = HOST_OF[one.kind]
        self.lose_host(name)
        self.check()
        with api_of(self.places.server) as api:
            path = f"/v1/sandboxes/{one.sandbox}/{verb}?wait=true&timeout=30"
            answer = api.client.post(path)
            told = api.sandbox(one.sandbox)
            found = (answer.status_code, told["state"], told["reason"], told["leftovers"])
            self._note(f"{one.kind}: {verb} while away: {found}")
            self.find_host(name)
            api.until(one.sandbox, lambda told: told["state"] in then)
        self._became(one, then, "")
        if verb == "destroy":
            self.known.remove(one)

    def shut_down_here(self) -> None:
        """Shut this machine down in order, and start it again."""
        self._end_here(signal.SIGTERM)
        self.places.daemon.stop()
        self._begin_here("^Atoll was ended on this machine")

    def cut_power_here(self) -> None:
        """Cut the power of this machine, and start it again."""
        daemon = self.places.daemon
        shape = ("--format", "{{.State.Pid}}")
        pids = daemon.run("inspect", *shape, *daemon.run("ps", "-q").split()).split()
        self._end_here(signal.SIGKILL)
        daemon.kill()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        self._begin_here("^this machine was started anew")

    def _end_here(self, number: int) -> None:
        server = self.places.server
        process, zygote = server.process, zygote_process.zygote_pid(Home(server.home))
        assert process is not None and zygote is not None
        process.send_signal(number)
        process.wait()
        pidfd = os.pidfd_open(zygote)
        os.kill(zygote, number)
        assert zygote_process.await_end(pidfd, 60)
        os.close(pidfd)
        for one in self.on(("microvm",)):
            os.kill(qemu_of(server.home, one.sandbox), signal.SIGKILL)
        for place in Home(server.home).boxes.glob("*/box.json"):
            kept = load(place)
            assert kept is not None
            for process_of in kept.processes:
                with suppress(ProcessLookupError):
                    os.kill(process_of.pid, signal.SIGKILL)
            save(place, msgspec.structs.replace(kept, boot_id="of another start"))

    def _begin_here(self, why: str) -> None:
        self.places.start_engine()
        self.places.server.start()
        for one in self.known:
            if one.states == RUNS:
                self._became(one, ("failed",), why)

    def _to_one(self, some: list[Known], act: Callable[[Known], None]) -> None:
        if some:
            act(self.dice.choice(some))

    def end(self) -> None:
        """Destroy everything, and see that nothing is left of it."""
        for one in [*self.known]:
            self.destroy(one)
        self.check_neighbours()
        places = self.places
        there = places.daemon.run("ps", "-aq", "--no-trunc").split()
        assert sorted(there) == sorted(places.neighbours.values())
        for kind in ("network", "volume"):
            assert places.daemon.run(kind, "ls", "-q", "--filter", "label=atoll.home") == ""
        for host in places.hosts.values():
            assert [*host.box.home.glob(".atoll/*/boxes/*")] == []
        assert [*(places.server.home / "vms").iterdir()] == []

    # A person's acts.

    def create(self, kind: str) -> Known:
        """Make a sandbox, with a file and a program in it."""
        self.made += 1
        body: dict[str, Any] = {"profile": kind, "name": f"{kind}-{self.made}"}
        if kind == "compose-ssh":
            body["inputs"] = {"compose_bundle": STACK}
        with api_of(self.places.server) as api:
            one = Known(kind, api.create(**body)["sandbox_id"], f"mark-{self.made}")
            api.run(one.sandbox, LIVES.format(mark=one.mark))
        self.known.append(one)
        return one

    def stop(self, one: Known) -> None:
        """Stop one."""
        with api_of(self.places.server) as api:
            api.act(one.sandbox, "stop")
        self._became(one, ("stopped",), "")

    def start(self, one: Known) -> None:
        """Start one that was stopped or failed."""
        went_on = "runtime lost" in one.why
        with api_of(self.places.server) as api:
            told = api.act(one.sandbox, "start")
            assert told["state"] in RUNS, told
            assert one.mark in api.run(one.sandbox, "cat mark")
            if not went_on:
                api.run(one.sandbox, LIVES.format(mark=one.mark))
        self._became(one, RUNS, "")

    def destroy(self, one: Known) -> None:
        """Destroy one."""
        with api_of(self.places.server) as api:
            told = api.act(one.sandbox, "destroy")
            assert (told["state"], told["leftovers"]) == ("destroyed", []), told
        self.known.remove(one)

    # What ends by itself.

    def kill_runtime(self, one: Known) -> None:
        """Kill its runtime. Programs of another machine run on."""
        with api_of(self.places.server) as api:
            os.kill(api.box(one.sandbox).runtime_pid, signal.SIGKILL)
        far = one.kind not in ("namespaces", "docker")
        self._became(one, ("failed",), "^runtime lost .*run on" if far else "^the runtime")

    def kill_inside(self, one: Known) -> None:
        """End what a sandbox consists of: init, container, link, machine."""
        why = {
            "namespaces": self._kill_init,
            "docker": self._kill_container,
            "ssh": self._kill_link,
            "compose-ssh": self._kill_agent,
            "microvm": self._kill_machine,
        }[one.kind](one)
        self._became(one, ("failed",), why)

    def _kill_init(self, one: Known) -> str:
        kept = load(Home(self.places.server.home).box(one.sandbox).record)
        assert kept is not None
        os.kill(kept.processes[-1].pid, signal.SIGKILL)
        return "^everything inside ended"

    def _kill_container(self, one: Known) -> str:
        verb = self.dice.choice(("kill", "rm"))
        words = ("rm", "-f") if verb == "rm" else ("kill",)
        self.places.daemon.run(*words, *self.places.containers()[one.sandbox])
        return "container (ended with status 137|was removed)"

    def _kill_agent(self, one: Known) -> str:
        label = f"label=atoll.sandbox={one.sandbox}"
        shape = ("--filter", label, "--filter", "label=atoll.service=agent")
        agent = self.places.daemon.run("ps", "-q", *shape)
        if self.dice.random() < 0.5:
            self.places.daemon.run("kill", agent)
            return r"host stacks: the container of the agent ended: Exited \(137\)"
        self.places.daemon.run("rm", "-f", agent)
        return "host stacks: the container of the agent was removed"

    def _kill_link(self, one: Known) -> str:
        (files,) = self.places.hosts["box"].box.home.glob(f".atoll/*/boxes/{one.sandbox}")
        os.kill(int((files / "pid").read_text()), signal.SIGKILL)
        return "host box: the link there ended"

    def _kill_machine(self, one: Known) -> str:
        os.kill(qemu_of(self.places.server.home, one.sandbox), signal.SIGKILL)
        return "its machine ended"

    def _became(self, one: Known, states: tuple[str, ...], why: str) -> None:
        one.states, one.why = states, why

    # Hosts.

    def reboot_host(self) -> None:
        """Start the host of plain sandboxes anew."""
        self.places.hosts["box"].box.reboot()
        for one in self.on(("ssh",)):
            self._became(one, ("failed",), "host box: that machine was started anew")

    def restart_sshd(self, name: str) -> None:
        """End every connection; links go on."""
        self.places.hosts[name].box.restart()

    def lose_host(self, name: str) -> None:
        """Pull the cable of a host. What runs there is away."""
        self.places.hosts[name].unplug()
        for one in self.on([kind for kind, host in HOST_OF.items() if host == name]):
            self._became(one, RUNS, f"^not reached now: host {name} cannot be reached")

    def find_host(self, name: str) -> None:
        """Put it in again."""
        self.places.hosts[name].plug()
        for one in self.known:
            if one.why.startswith("^not reached") and HOST_OF.get(one.kind) == name:
                self._became(one, RUNS, "")

    # Daemons.

    def restart_engine(self) -> None:
        """Restart the Docker daemon, which ends its containers."""
        self.places.daemon.stop()
        self.places.start_engine()
        self._containers_ended("its container ended with status")

    def kill_engine(self) -> None:
        """Kill it. The next one ends the containers that it finds."""
        self.places.daemon.kill()
        self.places.start_engine()
        self._containers_ended("the Docker daemon had gone away")

    def _containers_ended(self, why: str) -> None:
        for one in self.on(("docker",)):
            self._became(one, ("failed",), why)
        for one in self.on(("compose-ssh",)):
            # The Engine is asked for a while, and may be away for longer.
            known = "host stacks: the container of the agent (ended|was removed)"
            away = "the Docker Engine of host stacks cannot be reached"
            self._became(one, ("failed",), f"{known}|{away}")

    def kill_control(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Kill the control plane, and start it after something happened."""
        server = self.places.server
        server.kill()
        meanwhile()
        server.start()

    def kill_zygote(self) -> None:
        """Kill the zygote, and start it again. Programs of other machines run on."""
        home = Home(self.places.server.home)
        zygote = zygote_process.zygote_pid(home)
        assert zygote is not None
        os.kill(zygote, signal.SIGKILL)
        again = self.places.server.run("up", "--home", str(home.root), "--no-browser")
        assert again.returncode == 0, again.stderr
        for one in self.known:
            if one.states == RUNS:
                self._became(one, ("failed",), "zygote")

    def _note(self, what: str) -> None:
        """Print what is told, once."""
        if what not in self.said:
            self.said.add(what)
            print(what, flush=True)

    # What must hold.

    def check(self) -> None:
        """Compare all that is known with what is told."""
        for one in self.known:
            self._check(one)
        self._check_list()
        self.check_neighbours()

    def _check(self, one: Known) -> None:
        def told_true(told: dict[str, Any]) -> bool:
            if told["state"] not in one.states:
                return False
            why = told["reason"] or ""
            return bool(re.search(one.why, why)) if one.why else not (one.runs and why)

        with api_of(self.places.server) as api:

            def look() -> dict[str, Any]:
                shown = api.sandbox(one.sandbox)
                return {**{key: shown[key] for key in ("state", "reason", "name")}, "known": one}

            told = until(look, told_true, PATIENCE)
            self._note(f"{one.kind}: {told['state']}: {told['reason']}")
            if one.runs:
                said = api.run(one.sandbox, STILL)
                assert said == f"same\n{one.mark}\n", (one, said)

    def _check_list(self) -> None:
        listed = self.places.server.run("list")
        assert listed.returncode == 0, listed.stderr
        rows = {row.split()[0]: row for row in listed.stdout.splitlines()[1:]}
        with api_of(self.places.server) as api:
            for one in self.known:
                name = api.sandbox(one.sandbox)["name"]
                away = one.why.startswith("^not reached")
                assert ("(not reached)" in rows[name]) is away, listed.stdout
                assert (f"{name} is not reached now: " in listed.stderr) is away, listed.stderr

    def check_neighbours(self) -> None:
        """Check that nothing which is another's was touched."""
        running = self.places.daemon.run("ps", "-q", "--no-trunc").split()
        for name, container in self.places.neighbours.items():
            assert container in running, name

    def on(self, kinds: Collection[str]) -> list[Known]:
        """Those of these kinds that run."""
        return [one for one in self.known if one.kind in kinds and one.runs]
