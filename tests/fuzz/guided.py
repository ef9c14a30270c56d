"""Inputs for one parser, led by what they reach of it: libFuzzer, by atheris, which ends its process.

    python tests/fuzz/guided.py descriptor FOLDER [libFuzzer's options]

FOLDER is the corpus, where good inputs are put first. Ends with 0 where every input was read or refused.
"""

import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent)]

import atheris  # noqa: E402

with atheris.instrument_imports(include=["sdcgate"]):
    from sdcgate.engine.descriptor import DescriptorInvalid, parse_descriptor
    from sdcgate.engine.engine import Engine
    from sdcgate.facility.errors import InvalidRequest
    from sdcgate.facility.results.reading import read_results
    from sdcgate.policy.loading import load_policy
    from sdcgate.policy.model import PolicyInvalid
    from sdcgate.policy.strict_yaml import YamlInvalid, read_yaml

import yaml  # noqa: E402

from fuzz.test_files import TEXTS, told  # noqa: E402
from fuzz.test_parsers import folders  # noqa: E402
from house import RANDHIE  # noqa: E402
from made_files import PEOPLE, write_people  # noqa: E402

Target = tuple[list[bytes], Callable[[bytes], None]]
"""Good inputs, and what is done with any."""


def descriptor(_: Path) -> Target:
    """Texts of descriptors."""

    def check(content: bytes) -> None:
        try:
            # As the command that registers it.
            declared = read_yaml(content.decode())
        except UnicodeDecodeError:
            return
        except YamlInvalid as invalid:
            if not invalid.problems:
                raise
            return
        if isinstance(declared, dict):
            try:
                parse_descriptor(declared)
            except DescriptorInvalid as invalid:
                told(invalid.problems)

    return [yaml.safe_dump(PEOPLE).encode(), RANDHIE.read_bytes()], check


def policy(folder: Path) -> Target:
    """Files of policies."""
    file = folder / "any.yaml"

    def check(content: bytes) -> None:
        file.write_bytes(content)
        try:
            load_policy(file)
        except PolicyInvalid as invalid:
            told(invalid.problems)

    return TEXTS, check


def results(folder: Path) -> Target:
    """Any one file of a folder that a job printed: the first two bytes say which, of which folder."""
    write_people(folder / "people.csv", 60)
    engine = Engine(folder, folder / "store", bytes(32), threads=1)
    engine.register(parse_descriptor(PEOPLE))
    dataset = engine.dataset("people")
    good = [
        {name: held for name, held in files.items() if not name.startswith("checksums/")}
        for files in folders()
    ]

    def check(content: bytes) -> None:
        if len(content) < 2:
            return
        files = good[content[0] % len(good)]
        name = sorted(files)[content[1] % len(files)]
        try:
            found = read_results(dataset, {**files, name: content[2:]})
        except InvalidRequest as refused:
            told(refused.problems)
            return
        assert all(printed.problems or _read(printed) for printed in found.outputs)

    seeds = [
        bytes([place, number]) + files[name]
        for place, files in enumerate(good)
        for number, name in enumerate(sorted(files))
    ]
    return seeds, check


def _read(printed: object) -> bool:
    return any(getattr(printed, kind) for kind in ("output", "model", "table", "statistic"))


TARGETS = {"descriptor": descriptor, "policy": policy, "results": results}


def main() -> None:
    """Make inputs for a target."""
    name, folder, *options = sys.argv[1:]
    corpus, work = Path(folder) / "corpus", Path(folder) / "work"
    for place in (corpus, work):
        place.mkdir(parents=True, exist_ok=True)
    seeds, check = TARGETS[name](work)
    for number, seed in enumerate(seeds):
        (corpus / f"good-{number}").write_bytes(seed)
    # Good inputs stay as they are: most of what they reach, shorter ones reach, too.
    kept = ("-keep_seed=1", "-reduce_inputs=0", "-len_control=0", f"-artifact_prefix={folder}/")
    atheris.Setup([sys.argv[0], *kept, *options, str(corpus)], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
