"""Kills a process so many microseconds after a file was next written to: `sniper.py <pid> <file> <delay>`.

A process of its own: in the test's the threads of the clients would be in the way. Prints whether it shot.
"""

import os
import signal
import sys
import time

WAIT_SECONDS = 20.0


def state(file: str) -> tuple[int, int]:
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return (0, 0)
    return found.st_size, found.st_mtime_ns


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(process: int, file: str, delay: int) -> None:
    before, deadline = state(file), time.monotonic() + WAIT_SECONDS
    say("ready")
    while state(file) == before:
        if time.monotonic() > deadline:
            say("nothing was written")
            return
    until = time.perf_counter_ns() + delay * 1000
    while time.perf_counter_ns() < until:
        pass
    os.killpg(process, signal.SIGKILL)
    say("shot")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
