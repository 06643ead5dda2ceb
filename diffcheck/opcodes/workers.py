"""Probes in processes of their own, so that a hung kernel or a lost context costs one form, not the run."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from typing import Final, Literal

from diffcheck.opcodes.executors import Factory, ProbeFaultError, ProbeRefusedError
from diffcheck.opcodes.probe import Probe, all_probes, groups

# A form runs in milliseconds; a process that starts imports CuPy and makes a context.
LIMIT_S: Final = 20.0
START_S: Final = 120.0


@dataclass(frozen=True)
class Answer:
    """What became of a probe: its output memory, or why there is none."""

    status: Literal["measured", "refused", "fault"]
    memory: bytes = b""
    why: str = ""


def serve(connection: Connection, factory: Factory) -> None:
    """The life of a worker: make an executor, then answer the names of probes until the other side is gone."""
    try:
        executor = factory()
    except Exception as error:
        connection.send(Answer("fault", why=f"{type(error).__name__}: {error}"))
        return
    probes = {probe.name: probe for probe in all_probes()}
    members = groups(all_probes())
    connection.send(Answer("measured"))
    while True:
        try:
            probe = probes[connection.recv()]
        except EOFError:
            return
        try:
            answer = Answer("measured", executor.run(probe, members[probe.group]))
        except ProbeRefusedError as error:
            answer = Answer("refused", why=str(error))
        except ProbeFaultError as error:
            answer = Answer("fault", why=str(error))
        connection.send(answer)


class Worker:
    """One process, started anew after each fault."""

    def __init__(self, factory: Factory, limit_s: float = LIMIT_S) -> None:
        self._factory = factory
        self._limit_s = limit_s
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._unable: Answer | None = None

    def run(self, probe: Probe) -> Answer:
        """Run one probe."""
        if self._connection is None:
            # A process that cannot start will not start for the next form either.
            started = self._unable or self._start()
            if started.status != "measured":
                self._unable = started
                return started
        assert self._connection is not None
        self._connection.send(probe.name)
        answer = self._receive(self._limit_s, "did not end")
        if answer.status == "fault":
            self.stop()
        return answer

    def _start(self) -> Answer:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, self._factory), daemon=True)
        self._process.start()
        theirs.close()
        answer = self._receive(START_S, "did not start")
        if answer.status != "measured":
            self.stop()
        return answer

    def _receive(self, limit_s: float, what: str) -> Answer:
        assert self._connection is not None
        if not self._connection.poll(limit_s):
            return Answer("fault", why=f"{what} in {limit_s:g} s")
        try:
            answer = self._connection.recv()
        except (EOFError, OSError):
            return Answer("fault", why="the process ended")
        assert isinstance(answer, Answer)
        return answer

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._connection = self._process = None


def run_all(
    probes: Sequence[Probe],
    factory: Factory,
    done: Callable[[Probe, Answer], None],
    workers: int = 1,
    limit_s: float = LIMIT_S,
) -> None:
    """Run probes on several workers; `done` gets each answer, one at a time, in the thread that called.

    The members of a file stay together, as a worker loads the file once.
    """
    jobs: SimpleQueue[tuple[Probe, ...]] = SimpleQueue()
    for members in groups(probes).values():
        jobs.put(members)
    answers: SimpleQueue[tuple[Probe, Answer]] = SimpleQueue()
    halt = threading.Event()

    def work() -> None:
        worker = Worker(factory, limit_s)
        try:
            while not halt.is_set():
                for probe in jobs.get_nowait():
                    if halt.is_set():
                        return
                    answers.put((probe, worker.run(probe)))
        except Empty:
            return
        finally:
            worker.stop()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        for _ in probes:
            done(*_next(answers, threads))
    finally:
        halt.set()
        for thread in threads:
            thread.join()


def _next(answers: SimpleQueue[tuple[Probe, Answer]], threads: Sequence[threading.Thread]) -> tuple[Probe, Answer]:
    while answers.empty() and any(thread.is_alive() for thread in threads):
        time.sleep(0.001)
    try:
        return answers.get_nowait()
    except Empty:
        raise RuntimeError("the workers ended before their work") from None
