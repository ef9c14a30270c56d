"""YAML that can be read in two ways, not at all, or without end, is told with its line."""

import time

import pytest

from sdcgate.policy.strict_yaml import YamlInvalid, read_yaml

LAUGHS = "\n".join(
    ["a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]"]
    + [
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("name: x\na: \0", 2, "a character that YAML does not allow"),
        ("a: 1\nb: &b [*b]", 2, "holds itself"),
        ("a: &a {b: {c: *a}}", 1, "holds itself"),
        (LAUGHS, 1, "more than 100000 values"),
        ("a: 2024-02-30", None, "a date or a number that does not exist"),
        (f"a: {'9' * 5000}", None, "a date or a number that does not exist"),
        ("a: 1\na: 2", 2, "stands twice"),
        ("a: *b", 1, "undefined alias"),
        ("a: !!python/object:os.system x", 1, "could not determine a constructor"),
    ],
    ids=["NUL", "list", "mapping", "laughs", "date", "number", "key twice", "no anchor", "a program"],
)
def test_what_is_wrong_is_told_with_its_line(text, line, words):
    began = time.process_time()
    with pytest.raises(YamlInvalid) as caught:
        read_yaml(text)
    assert time.process_time() - began < 2
    ((where, what),) = caught.value.problems
    assert where == line
    assert words in what


def test_what_is_repeated_and_ends_is_read():
    assert read_yaml("a: &a [1]\nb: [*a, *a]") == {"a": [1], "b": [[1], [1]]}
