"""What docs/bad-input.md says is told is what the tests over the wire see told."""

import re
from pathlib import Path

import pytest

import bad_input

PAGE = (Path(__file__).parents[2] / "docs" / "bad-input.md").read_text(encoding="utf-8")
TABLES = {
    "A query": (bad_input.QUERIES,),
    "A body": (bad_input.BODIES,),
    "The risk of a dataset": (bad_input.ASSESSMENTS,),
    "A descriptor and its file": (bad_input.FILES, bad_input.DESCRIPTORS),
}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("title", TABLES)
def test_every_line_of_the_page_is_sent_and_told_so(title):
    told = {
        (path, words) for cases in TABLES[title] for case in cases.values() for path, words in case[1].items()
    }
    lines = re.findall(r"^\| (?!what|---)[^|]+\| ?([^|]*) \| ([^|]+) \|$", section(title), re.MULTILINE)
    assert len(lines) > 5
    for path, words in lines:
        path, words = path.strip().strip("`"), words.strip()
        assert any(path == known and (words in sent or sent in words) for known, sent in told), (path, words)
