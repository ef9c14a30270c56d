"""What is read from texts and files in one process: jobs' printed results, formulas, certificates."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fuzz import good_requests
from fuzz.campaign import Campaign
from fuzz.messages import damage
from fuzz.test_files import ODD, told
from fuzz.trees import change_tree
from made_files import PEOPLE, write_people
from printed_results import whole_folder
from sdcgate.cli.ledger import decision_of, is_certified
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.engine import Engine
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.model_vocabulary import vocabulary
from sdcgate.facility.results.folder import Files, unpack
from sdcgate.facility.results.reading import read_results
from sdcgate.ledger.heads import _parsed
from sdcgate.ledger.signing import KeyRing
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.formula_tokens import FormulaError

FORMULAS = (
    "income ~ region + age",
    'income ~ C(region, level="part") * square(age)',
    "income ~ numeric(age) - 1",
    "log(income) ~ region + ill",
)
PIECES = (
    *"~+-*:/^()10.,|'` \0é",
    *("**", "%in%", "-1", "9" * 30, "1e400", "I(", "C(", "numeric(", "log(", "bs(", "(" * 40),
    *("region", "age", "income", "nobody", "region:part", 'level="'),
)
CERTIFICATE = {
    "query": "q-01M7YK3FA18MF79SBQWGGGJA28",
    "verdict": "RELEASED",
    "certificate": {
        "sequence": 7,
        "head": "ab" * 32,
        "answer_digest": "cd" * 32,
        "key_id": "ef" * 8,
        "signature": "12" * 64,
    },
}
HEAD = json.dumps({"sequence": 7, "hash": "ab" * 32, "key_id": "ef" * 8, "signature": "12" * 64}).encode()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dataset]:
    folder = tmp_path_factory.mktemp("files")
    write_people(folder / "people.csv", 60)
    engine = Engine(folder, folder / "store", bytes(32), threads=1)
    engine.register(parse_descriptor(PEOPLE))
    yield engine.dataset("people")
    engine.close()


def changed_text(content: bytes, chance: random.Random) -> bytes:
    """A text of which one cell, value or line is another."""
    lines = content.split(b"\n")
    place = chance.randrange(len(lines))
    cells = lines[place].split(b",")
    match chance.randrange(4):
        case 0:
            cells[chance.randrange(len(cells))] = chance.choice(ODD).encode()
            lines[place] = b",".join(cells)
        case 1:
            lines[place : place + 1] = [lines[place]] * chance.choice((0, 2, 30))
        case 2:
            chance.shuffle(cells)
            lines[place] = b",".join(cells)
        case _:
            chance.shuffle(lines)
    return b"\n".join(lines)


def changed_json(content: bytes, chance: random.Random) -> bytes:
    """A JSON text of which one place is another; damaged where it is none any more."""
    try:
        tree = json.loads(content)
    except ValueError:
        return damage(content, chance)
    if not isinstance(tree, dict | list):
        return damage(content, chance)
    change_tree(tree, chance)
    return json.dumps(tree).encode()


def changed_file(name: str, content: bytes, chance: random.Random) -> bytes:
    """A file of which something is another, as its kind has it."""
    if chance.random() < 0.2:
        return damage(content, chance)
    if name.endswith(".json") and chance.random() < 0.8:
        return changed_json(content, chance)
    return changed_text(content, chance)


def folders() -> list[Files]:
    """Folders that jobs printed, all of whose files are read."""
    return [
        unpack("", good_requests.results_archive()),
        *(
            {
                name: one if isinstance(one, bytes) else one.encode()
                for name, one in whole_folder(version).items()
            }
            for version in ("0.4.12", "1.0.2")
        ),
    ]


def test_printed_results_with_any_file_changed(dataset: Dataset, campaign: Campaign) -> None:
    good = folders()

    def check(chance: random.Random) -> str:
        files = dict(chance.choice(good))
        for _ in range(chance.choice((1, 1, 2))):
            name = chance.choice(list(files))
            # A checksum would tell all changes of a file.
            if not name.startswith("checksums/"):
                files = {one: held for one, held in files.items() if not one.startswith("checksums/")}
            files[name] = changed_file(name, files[name], chance)
        if chance.random() < 0.1:
            files[chance.choice(ODD) + ".csv"] = files.pop(chance.choice(list(files)))
        found = read_results(dataset, files)
        for printed in found.outputs:
            assert printed.problems or printed.output or printed.model or printed.table or printed.statistic
            assert all(printed.problems)
        read = sum(not printed.problems for printed in found.outputs)
        return f"{min(read, 5)} read"

    campaign.seeded(check, examples=200)


def test_archives_of_any_bytes(campaign: Campaign) -> None:
    archive = good_requests.results_archive()

    def check(chance: random.Random) -> str:
        try:
            unpack(chance.choice(ODD) if chance.random() < 0.1 else "", damage(archive, chance))
        except InvalidRequest as refused:
            return told(refused.problems)
        return "unpacked"

    campaign.seeded(check, examples=300)


def test_formulas_of_any_pieces(dataset: Dataset, campaign: Campaign) -> None:
    known = vocabulary(dataset)

    def check(chance: random.Random) -> str:
        text = chance.choice(FORMULAS)
        for _ in range(chance.choice((0, 1, 1, 2, 6))):
            place = chance.randrange(len(text) + 1)
            text = text[:place] + chance.choice(PIECES) + text[place + chance.choice((0, 0, 1, 5)) :]
        try:
            parse_formula(text, known, with_outcome=chance.random() < 0.8)
        except FormulaError as wrong:
            return told([problem for problem in wrong.problems if 0 <= problem.position <= len(text)])
        return "read"

    campaign.seeded(check, examples=500)


def test_certificates_and_heads_of_any_content(campaign: Campaign, tmp_path: Path) -> None:
    public_key = KeyRing.open(tmp_path / "keys").public_bundle()

    def check(chance: random.Random) -> str:
        if chance.random() < 0.5:
            assert _parsed(damage(HEAD, chance)) is None or _parsed(HEAD) is not None
            return "a head"
        shown: Any = json.loads(json.dumps(CERTIFICATE))
        for _ in range(chance.choice((1, 2))):
            change_tree(shown, chance)
        try:
            valid = is_certified(decision_of(shown), public_key)
        except ValueError as wrong:
            return "refused" if str(wrong) else "refused without a word"
        assert not valid
        return "not valid"

    campaign.seeded(check, examples=500)
