"""Nobody has more turns at once than some, and each is given back."""

import pytest

from sdcgate.facility.errors import Unavailable
from sdcgate.facility.turns import Turns


def test_a_researcher_has_some_turns_at_once_and_others_have_theirs() -> None:
    turns = Turns(2, "Later.")
    with turns.taken("ada"), turns.taken("ada"):
        with pytest.raises(Unavailable, match=r"^Later\.$"), turns.taken("ada"):
            pass
        with turns.taken("grace"):
            pass

    with turns.taken("ada"), turns.taken("ada"):
        pass


def test_a_turn_that_failed_is_given_back() -> None:
    turns = Turns(1, "Later.")
    for _ in range(2):
        with pytest.raises(ValueError, match="fit"), turns.taken("ada"):
            raise ValueError("fit")


def test_all_together_have_some_turns_and_no_more() -> None:
    turns = Turns(2, "Later.", 3, "All are taken.")
    with turns.taken("ada"), turns.taken("ada"), turns.taken("grace"):
        with pytest.raises(Unavailable, match=r"^All are taken\.$"), turns.taken("eve"):
            pass
        with pytest.raises(Unavailable, match=r"^Later\.$"), turns.taken("ada"):
            pass
    with turns.taken("eve"):
        pass
