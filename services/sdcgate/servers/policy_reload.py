"""Changed policy files are loaded while the facility runs; broken ones leave the old policies in force."""

import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sdcgate.policy.files import read_folder
from sdcgate.policy.loading import load_policies, parse_files
from sdcgate.policy.model import Policy, PolicyInvalid, Problem
from sdcgate.servers.logging import logger, places
from sdcgate.servers.metrics import PolicyMetrics

Apply = Callable[[Mapping[str, Policy]], None]
"""Lets policies apply from now on, all at once. Raises PolicyInvalid where that is refused."""


class PolicyReload:
    """Looks at an agency's folder of policies every few seconds, by content, and when it is told to.

    Files count as changed when two looks in a row find the same bytes: a file that is being written is not
    half loaded, which could be a laxer policy. Who tells us to look (SIGHUP) says that the files are whole.

    Args:
        folder: The folder; without one there is nothing to load.
        seconds: How often to look; 0 for only when told to.
    """

    def __init__(self, folder: Path | None, seconds: float, metrics: PolicyMetrics) -> None:
        self._folder = folder
        self._seconds = seconds
        self._metrics = metrics
        self._log = logger("facility")
        self._told = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._files: Mapping[str, bytes] = read_folder(folder) if folder is not None else {}
        own = parse_files(self._files)
        self._names = set(own)
        self.policies: Mapping[str, Policy] = load_policies() | own
        """The policies that applied at the start."""
        self.problems: tuple[str, ...] = ()
        """What is wrong with the files that were changed last; empty where they apply."""
        self._seen: Mapping[str, bytes] = self._files
        self._tried: Mapping[str, bytes] = self._files
        self._metrics.loaded.set_to_current_time()

    def start(self, apply: Apply) -> None:
        """Look from now on."""
        self._thread = threading.Thread(target=self._run, args=(apply,), name="policies", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped = True
        self._told.set()
        if self._thread is not None:
            self._thread.join()

    def reload_on_hangup(self) -> None:
        """Load the files when SIGHUP comes. To be called in the main thread."""
        signal.signal(signal.SIGHUP, self._hangup)

    def look(self, apply: Apply, told: bool = False) -> None:
        """Look at the files once, and load them if they have changed."""
        if self._folder is None:
            return
        try:
            files = read_folder(self._folder)
            if told or self._is_new(files):
                self._load(files, apply)
            elif files == self._files and self.problems:
                self._tried = files
                self._in_order("policy files are as they were")
        except PolicyInvalid as error:
            self._failed(str(error), again=told)

    def _is_new(self, files: Mapping[str, bytes]) -> bool:
        """Whether files are to be loaded: changed since the last attempt, and not since the last look."""
        still = files == self._seen
        self._seen = files
        return still and files != self._tried

    def _load(self, files: Mapping[str, bytes], apply: Apply) -> None:
        """All that is wrong with files they keep until they change; anything else is tried again."""
        try:
            self._apply(files, apply)
        except PolicyInvalid:
            self._tried = files
            raise
        self._tried = files

    def _apply(self, files: Mapping[str, bytes], apply: Apply) -> None:
        own = parse_files(files)
        gone = sorted(self._names - set(own))
        if gone:
            message = f"the policy {', '.join(gone)} is in no file any more; restart to do without it"
            raise PolicyInvalid(str(self._folder), [Problem("", message)])
        apply(load_policies() | own)
        self._files, self._names = files, set(own)
        self._metrics.reloads.labels("loaded").inc()
        self._metrics.loaded.set_to_current_time()
        self._in_order("policies loaded", policies=sorted(own))

    def _in_order(self, event: str, **fields: Any) -> None:
        self.problems = ()
        self._metrics.failed.set(0)
        self._log.info(event, **fields)

    def _failed(self, *problems: str, again: bool = False, **fields: Any) -> None:
        """Shout, once for each change and each time that we are told; the old policies apply."""
        if self.problems == problems and not again:
            return
        self.problems = problems
        self._metrics.failed.set(1)
        self._metrics.reloads.labels("failed").inc()
        self._log.error(
            "policies NOT loaded: those from before go on",
            folder=str(self._folder),
            problems=problems,
            **fields,
        )

    def _run(self, apply: Apply) -> None:
        while True:
            self._told.wait(self._seconds or None)
            # Only what was seen is taken back: somebody may tell us after the wait has ended by the clock.
            if told := self._told.is_set():
                self._told.clear()
            if self._stopped:
                return
            try:
                self.look(apply, told)
            except Exception as error:
                # Whatever it was, the next look may find it mended.
                self._failed(f"could not be applied: {type(error).__name__}", places=places(error))

    def _hangup(self, number: int, frame: Any) -> None:  # noqa: ARG002
        self._told.set()
