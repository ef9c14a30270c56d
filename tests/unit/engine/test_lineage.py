"""The same people under another name do not start a new history."""

import secrets

import pytest

from sdcgate.engine.descriptor import DescriptorInvalid, parse_descriptor
from sdcgate.engine.engine import Engine


def descriptor(name: str, **changes):
    declared = {
        "name": name,
        "data": {"path": f"{name}.csv"},
        "unit": {"column": "id", "label": "person"},
        "design": {"coverage": "CENSUS"},
        "variables": [
            {"name": "sex", "identifying": "YES", "levels": [{"codes": [{"code": "1"}, {"code": "2"}]}]}
        ],
    }
    return parse_descriptor(declared | changes)


@pytest.fixture
def engine(tmp_path):
    for name, ids in (("people", range(100)), ("again", range(40, 140)), ("others", range(500, 600))):
        lines = "\n".join(f"P{unit},{1 + unit % 2}" for unit in ids)
        (tmp_path / f"{name}.csv").write_text(f"id,sex\n{lines}\n")
    engine = Engine(tmp_path, tmp_path / "store", secrets.token_bytes(32))
    engine.register(descriptor("people"))
    return engine


def test_the_ids_of_another_source_have_to_be_explained(engine):
    with pytest.raises(DescriptorInvalid) as caught:
        engine.register(descriptor("again"))
    (problem,) = caught.value.problems
    assert problem.path == "source"
    assert "`source: people`" in problem.message


def test_the_steward_says_that_they_are_the_same_people_or_others(engine):
    assert engine.register(descriptor("again", source="people")).dataset.source == "people"
    assert engine.register(descriptor("again", source="again", label="others")).dataset.source == "again"


def of_age(name: str, **changes):
    ages = {"name": "age", "identifying": "YES", "levels": [{"codes": [{"code": str(n)} for n in range(90)]}]}
    return descriptor(name, variables=[ages], measures=[{"name": "income"}], **changes)


@pytest.fixture
def ages(tmp_path):
    """A census; the same people a year later with other incomes; and others with the same ids."""
    for name, step, raised in (("census", 7, 0), ("later", 7, 50), ("firm", 11, 0)):
        lines = "\n".join(f"{unit},{unit * step % 90},{unit * step % 997 + raised}" for unit in range(300))
        (tmp_path / f"{name}.csv").write_text(f"id,age,income\n{lines}\n")
    engine = Engine(tmp_path, tmp_path / "store", secrets.token_bytes(32))
    engine.register(of_age("census"))
    return engine


def test_people_with_the_same_ids_and_the_same_answers_are_no_others(ages):
    again = of_age("again", source="again", data={"path": "census.csv"})
    with pytest.raises(DescriptorInvalid) as caught:
        ages.register(again)
    (problem,) = caught.value.problems
    assert problem.path == "source"
    assert "say `source: census`" in problem.message


def test_the_steward_may_say_why_they_are_others_all_the_same(ages):
    why = "A copy with which the portal is tried"
    again = of_age("again", source="again", data={"path": "census.csv"}, other_people=why)
    assert ages.register(again).dataset.descriptor.other_people == why


def test_a_new_version_cannot_be_about_other_people_without_being(ages):
    with pytest.raises(DescriptorInvalid, match="source"):
        ages.register(of_age("census", source="somebody"))


def test_other_people_may_have_the_same_ids(ages):
    assert ages.register(of_age("firm", source="firm")).dataset.source == "firm"


def test_other_people_need_no_explanation(engine):
    assert engine.register(descriptor("others")).dataset.source == "others"


def test_rows_that_are_units_are_not_compared(engine):
    assert engine.register(descriptor("again", unit={"column": "", "label": "row"})).dataset.source == "again"
