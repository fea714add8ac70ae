"""Threads are started and interrupted, and the two do not meet."""

import threading
import time
from queue import SimpleQueue

from drawloom import threads

#: Seconds after which a thread that has not ended is stuck.
STUCK = 20


class Starter:
    """A thread that starts others until it is interrupted."""

    def __init__(self) -> None:
        self.begun: SimpleQueue[threading.Thread] = SimpleQueue()
        self.thread = threads.start(self.run, "starter")

    def run(self) -> None:
        try:
            while True:
                self.begun.put(threads.start(lambda: None, "other"))
        except KeyboardInterrupt:
            pass


def test_an_interrupted_thread_ends_whatever_it_is_starting() -> None:
    for _ in range(50):
        starter = Starter()
        for _ in range(3):
            starter.begun.get(timeout=STUCK)
        threads.interrupt(starter.thread)
        starter.thread.join(STUCK)
        assert not starter.thread.is_alive()
        while not starter.begun.empty():
            other = starter.begun.get()
            other.join(STUCK)
            assert not other.is_alive()


def test_a_thread_that_is_given_a_stack_leaves_others_the_usual_one() -> None:
    before = threading.stack_size()
    threads.start(lambda: None, "stack", 8 << 20).join(STUCK)
    assert threading.stack_size() == before


def test_a_thread_is_interrupted_behind_its_call() -> None:
    ended: SimpleQueue[str] = SimpleQueue()
    began = threading.Event()

    def work() -> None:
        try:
            began.set()
            time.sleep(0.05)
            while True:
                pass
        except KeyboardInterrupt:
            ended.put("interrupted")

    thread = threads.start(work, "work")
    began.wait(STUCK)
    threads.interrupt(thread)
    assert ended.get(timeout=STUCK) == "interrupted"
