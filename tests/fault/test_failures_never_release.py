"""Whatever fails, lies, is late or dies on the way of a query: nothing unsafe leaves, and nothing is lost."""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import httpx
import numpy as np
import pytest
import sqlalchemy

from house import (
    House,
    LocalProtection,
    LocalRisk,
    build,
    cells,
    reasons,
    table_request,
    verdict,
    with_randhie,
)
from sdcgate.engine.engine import Engine
from sdcgate.facility.errors import FacilityError, TimeOver, Unavailable
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.pace import Pace
from sdcgate.facility.ports import Pattern
from sdcgate.ledger.credentials import Credentials
from sdcgate.ledger.ledger import HeadMoved, LedgerError, LedgerUnavailable
from sdcgate.methods.rules import Consequence, Finding, ReasonCode
from sdcgate.methods.tables.assessment import Assessment
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.witnesses import Witnesses, no_witnesses
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies
from sdcgate.servers.authentication import AUTHORIZATION_KEY, service_authenticator
from sdcgate.servers.backends import RemoteProtection, RemoteRisk
from sdcgate.servers.channels import connect
from sdcgate.servers.facility import SERVICE, FacilityServicer, authenticator
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.settings import FacilityServer, GrpcServer
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2_grpc
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2, protection_pb2_grpc
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2, risk_pb2_grpc
from sdcgate_proto.sdcgate.types.v1 import policy_pb2
from served_house import ServedHouse, codes_of

UNSAFE = {"rows": ["plan"], "columns": ["site"]}
"""A table with small cells."""
WITH_SUMS = {"rows": ["household_size"], "figures": ["UNITS", "SUM:income"]}
"""A table with small cells whose sums are protected too."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = with_randhie(tmp_path_factory.mktemp("randhie")).engine
    yield made
    made.close()


@pytest.fixture
def open_house(engine: Engine, tmp_path: Path) -> Callable[..., House]:
    """Houses with the demonstration data, each with a fresh ledger."""
    numbers = itertools.count()

    # What is proposed instead counts as released, and would hide whether anything else was.
    text = (BUNDLED / "israel-cbs.yaml").read_text()
    assert "proposals: 3" in text
    (tmp_path / "israel-cbs.yaml").write_text(text.replace("proposals: 3", "proposals: 0"))
    policies = load_policies(tmp_path)

    def make(**services: Any) -> House:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return build(folder, engine=engine, policies=policies, **services)

    return make


def nothing_left(house: House) -> bool:
    """Whether no cell of the data has left, by what the ledger says."""
    kept = map(left_of, house.ledger.releases("randhie"))
    return all(one.held for one in kept) and house.ledger.verify().ok


def held(house: House, **request: Any) -> list[str]:
    """Ask for a table that must not leave; the reasons why it did not."""
    answered = house.ask(**request)
    assert verdict(answered) in ("REFERRED", "REFUSED")
    assert not answered.decision.HasField("table")
    assert nothing_left(house)
    return reasons(answered)


# Protection that lies


class Lying(LocalProtection):
    """Finds the right pattern, then says something else."""

    def __init__(self, lie: Callable[[Problem, np.ndarray, Pattern], Pattern]) -> None:
        self.lie = lie
        self.asked = 0

    def protect_table(self, problem, unsafe, time_limit, timeout, known=None, effort=0):
        self.asked += 1
        honest = super().protect_table(problem, unsafe, time_limit, timeout, known)
        return self.lie(problem, unsafe, honest)


def nothing(problem, unsafe, honest):
    return Pattern(np.zeros_like(unsafe), Proof.PROVED)


def nothing_with_witnesses(problem, unsafe, honest):
    return replace(honest, withheld=np.zeros_like(unsafe))


def none_of_the_unsafe(problem, unsafe, honest):
    return replace(honest, withheld=honest.withheld & ~unsafe)


def the_unsafe_alone(problem, unsafe, honest):
    return replace(honest, withheld=unsafe)


def one_cell_fewer(problem, unsafe, honest):
    withheld = honest.withheld.copy()
    withheld[np.flatnonzero(withheld & ~unsafe)[0]] = False
    return replace(honest, withheld=withheld)


def another_pattern(problem, unsafe, honest):
    return replace(honest, withheld=np.roll(honest.withheld, 1) | unsafe)


def forged(change: Callable[[Problem, Witnesses], Witnesses | None]):
    """The right pattern, said to be proved, with witnesses that are changed."""
    return lambda problem, unsafe, honest: replace(
        honest, proof=Proof.PROVED, witnesses=change(problem, honest.witnesses)
    )


def truth(problem: Problem, witnesses: Witnesses) -> Witnesses:
    """The true table, many times."""
    facts, cells, shape = problem.facts, witnesses.cells, (len(witnesses), 1)
    sums = [np.tile(measure.sums[cells], shape) for measure in facts.measures]
    return Witnesses(
        cells,
        np.tile(facts.records[cells], shape),
        np.tile(facts.units[cells], shape),
        np.array(sums).reshape(witnesses.sums.shape),
    )


def added(number: int, *fields: str) -> Callable[[Problem, Witnesses], Witnesses]:
    """Other counts in one cell of every witness: nothing adds up any more."""

    def change(problem: Problem, witnesses: Witnesses) -> Witnesses:
        changed = {name: getattr(witnesses, name).copy() for name in fields}
        for values in changed.values():
            values[..., 0] += number
        return replace(witnesses, **changed)

    return change


FORGERIES: dict[str, Callable[[Problem, Witnesses], Witnesses | None]] = {
    "none": lambda problem, witnesses: None,
    "empty": lambda problem, witnesses: no_witnesses(problem),
    "the truth": truth,
    "one more": added(1, "records", "units"),
    "negative": added(-(10**6), "records", "units"),
    "huge": added(2**62, "records", "units"),
    "as floats": lambda problem, witnesses: replace(witnesses, records=witnesses.records.astype(np.float64)),
    "of cells that do not exist": lambda problem, witnesses: replace(
        witnesses, cells=witnesses.cells + 10**6
    ),
    "of cells before the first": lambda problem, witnesses: replace(witnesses, cells=-1 - witnesses.cells),
    "of one cell twice": lambda problem, witnesses: replace(
        witnesses, cells=np.full_like(witnesses.cells, witnesses.cells[0])
    ),
    "of other cells": lambda problem, witnesses: replace(witnesses, cells=np.roll(witnesses.cells, 1)),
    "turned": lambda problem, witnesses: replace(witnesses, records=witnesses.records.T),
    "a text": lambda problem, witnesses: replace(witnesses, records="all is well"),
}
LIES: dict[str, Callable[[Problem, np.ndarray, Pattern], Pattern]] = {
    "nothing to withhold, proved": nothing,
    "nothing to withhold, with witnesses": nothing_with_witnesses,
    "the unsafe cells alone": the_unsafe_alone,
    "one complementary cell fewer": one_cell_fewer,
    "another pattern with these witnesses": another_pattern,
    "the right pattern, unproved": lambda problem, unsafe, honest: replace(honest, proof=Proof.UNPROVED),
    "the right pattern, refuted": lambda problem, unsafe, honest: replace(honest, proof=Proof.REFUTED),
    "the right pattern, no word": lambda problem, unsafe, honest: replace(honest, proof=Proof.UNSPECIFIED),
    **{f"witnesses: {name}": forged(change) for name, change in FORGERIES.items()},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_whatever_protection_says_an_unproved_table_does_not_leave(open_house, lie):
    protection = Lying(lie)
    house = open_house(protection=protection)
    assert held(house, **UNSAFE) == ["UNPROVED"]
    assert protection.asked


class Hasty(LocalProtection):
    """Has no time for its solver."""

    def protect_table(self, problem, unsafe, time_limit, timeout, known=None, effort=0):
        return super().protect_table(problem, unsafe, 0.0, timeout, known)


@pytest.mark.parametrize("asked", [UNSAFE, WITH_SUMS], ids=["counts", "sums"])
def test_a_solver_without_time_proves_nothing_and_nothing_leaves(open_house, asked):
    assert held(open_house(protection=Hasty()), **asked) == ["UNPROVED"]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -1.0])
def test_sums_that_are_none_prove_nothing(open_house, value):
    def lie(problem, witnesses):
        return replace(witnesses, sums=np.full_like(witnesses.sums, value))

    assert held(open_house(protection=Lying(forged(lie))), **WITH_SUMS) == ["UNPROVED"]


def test_what_protection_forgets_the_facility_withholds_itself(open_house):
    answered = open_house(protection=Lying(none_of_the_unsafe)).ask(**UNSAFE)
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert cells(answered) == cells(open_house().ask(**UNSAFE))


@pytest.mark.parametrize(
    "answer",
    [None, Pattern(np.zeros(3, dtype=np.bool_), Proof.PROVED), Pattern(np.array(["no"] * 168), Proof.PROVED)],
    ids=["nothing", "too short", "texts"],
)
def test_an_answer_that_is_no_pattern_is_an_error_and_no_release(open_house, answer):
    house = open_house(protection=Lying(lambda problem, unsafe, honest: answer))
    with pytest.raises((FacilityError, AttributeError, TypeError, ValueError)):
        house.ask(**UNSAFE)
    assert nothing_left(house)
    assert house.ledger.queries(None, (), 10) == []


def test_a_checker_can_release_what_was_held_once_it_can_be_proved(open_house):
    house = open_house(protection=Lying(nothing))
    query = house.ask(**UNSAFE).decision.query
    review = pb.ReviewQueryRequest(query=query, approve=True, note="let us see")
    with pytest.raises(FacilityError):
        house.facility.review_query(house.checker, review, Pace(30.0))
    assert nothing_left(house)
    house.facility._judge._protection = LocalProtection()
    decided = house.facility.review_query(house.checker, review, Pace(30.0))
    assert verdict(decided) == "RELEASED_PROTECTED"
    assert cells(decided) == cells(open_house().ask(**UNSAFE))


# Risk that lies


class Saying(LocalRisk):
    """Says always the same of a table; of anything else the truth."""

    def __init__(self, *findings: Finding, unchecked: tuple[ReasonCode, ...] = ()) -> None:
        self.assessment = Assessment(findings, None, unchecked)

    def assess_table(self, axes, facts, rules, base_units, key, timeout):
        return self.assessment


def protected_as_by_an_honest_service(open_house, answered) -> bool:
    """What the risk service does not find the facility finds itself."""
    return verdict(answered) == "RELEASED_PROTECTED" and cells(answered) == cells(open_house().ask(**UNSAFE))


def test_risk_without_findings_releases_no_small_cell(open_house):
    assert protected_as_by_an_honest_service(open_house, open_house(risk=Saying()).ask(**UNSAFE))


def test_risk_that_finds_another_cell_only_releases_no_small_cell(open_house):
    other = Finding(ReasonCode.MINIMUM_UNITS, Consequence.PROTECT, cells=(20,))
    shown = cells(open_house(risk=Saying(other)).ask(**UNSAFE))
    honest = cells(open_house().ask(**UNSAFE))
    assert all(figures[0] is None or figures[0] == 0 or figures[0] >= 10 for figures in shown.values())
    assert any(shown.get(code) != figures for code, figures in honest.items())


@pytest.mark.parametrize(
    ("says", "code"),
    [
        (Saying(unchecked=(ReasonCode.MINIMUM_UNITS,)), "UNPROVED"),
        (Saying(Finding(ReasonCode.UNSPECIFIED, Consequence.UNSPECIFIED)), "UNSPECIFIED"),
        (Saying(Finding(ReasonCode.MINIMUM_BASE, Consequence.PROTECT)), "MINIMUM_BASE"),
        (Saying(Finding(ReasonCode.MINIMUM_UNITS, Consequence.REFUSE, cells=(0,))), "MINIMUM_UNITS"),
    ],
    ids=["a rule unchecked", "no consequence", "a whole table to protect", "refuse"],
)
def test_what_risk_leaves_open_is_read_as_unsafe_even_of_a_safe_table(open_house, says, code):
    assert held(open_house(risk=says), rows=["site"]) == [code]


@pytest.mark.parametrize("cells", [(10**6,), (-(10**6),), ("a",), (None,), (0.5,)], ids=str)
def test_findings_about_cells_that_do_not_exist_are_an_error_and_no_release(open_house, cells):
    house = open_house(risk=Saying(Finding(ReasonCode.MINIMUM_UNITS, Consequence.PROTECT, cells)))
    with pytest.raises((FacilityError, IndexError, TypeError, ValueError)):
        house.ask(rows=["site"])
    assert nothing_left(house)


# Services that raise


class Failing:
    """Either service, raising what it is told to."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def assess_table(self, *asked: Any) -> Assessment:
        raise self.error

    protect_table = assess_table


@pytest.mark.parametrize("service", ["risk", "protection"])
@pytest.mark.parametrize(
    "error", [Unavailable("gone"), RuntimeError("secret 12"), TimeoutError(), MemoryError()]
)
def test_a_service_that_raises_leaves_no_trace_and_the_query_can_be_asked_again(open_house, service, error):
    house = open_house(**{service: Failing(error)})
    with pytest.raises(type(error)):
        house.ask(**UNSAFE)
    assert nothing_left(house)
    assert house.ledger.queries(None, (), 10) == []
    house.facility._judge._risk, house.facility._judge._protection = LocalRisk(), LocalProtection()
    answered = house.ask(**UNSAFE)
    assert (verdict(answered), answered.repeated) == ("RELEASED_PROTECTED", False)


# Services behind a wire that say, or do, what they should not


class Scripted(risk_pb2_grpc.RiskServiceServicer, protection_pb2_grpc.ProtectionServiceServicer):
    """Both services, doing what the test puts here."""

    assess: Callable[[Any, grpc.ServicerContext], Any]
    protect: Callable[[Any, grpc.ServicerContext], Any]

    def AssessTable(self, request, context):
        return self.assess(request, context)

    def ProtectTable(self, request, context):
        return self.protect(request, context)


TOKEN = "t" * 43


@pytest.fixture(scope="module")
def wire() -> Iterator[tuple[Scripted, grpc.Channel]]:
    """Scripted services on a real port, and a channel to them."""
    scripted = Scripted()

    def add(server: grpc.Server) -> None:
        risk_pb2_grpc.add_RiskServiceServicer_to_server(scripted, server)
        protection_pb2_grpc.add_ProtectionServiceServicer_to_server(scripted, server)

    section = GrpcServer(port=0, metrics_port=0)
    running = Running("risk", add, [], section, service_authenticator(TOKEN))
    running.start()
    channel = connect(running.address, TOKEN)
    yield scripted, channel
    channel.close()
    running.stop(0)


def finding(**fields: Any) -> risk_pb2.AssessTableResponse:
    usual = {
        "rule": policy_pb2.REASON_CODE_MINIMUM_UNITS,
        "consequence": policy_pb2.CONSEQUENCE_PROTECT,
        "cells": [0],
    }
    return risk_pb2.AssessTableResponse(findings=[policy_pb2.Finding(**{**usual, **fields})])


def slow(request: Any, context: grpc.ServicerContext) -> risk_pb2.AssessTableResponse:
    time.sleep(0.6)
    return risk_pb2.AssessTableResponse()


def ending(code: grpc.StatusCode) -> Callable[[Any, grpc.ServicerContext], Any]:
    return lambda request, context: context.abort(code, "household 17 has 3 persons")


def no_message(request: Any, context: grpc.ServicerContext) -> Any:
    return "this is no message"


FAILURES = {
    "slow": slow,
    "no message": no_message,
    **{
        code.name: ending(code)
        for code in (
            grpc.StatusCode.INVALID_ARGUMENT,
            grpc.StatusCode.UNAVAILABLE,
            grpc.StatusCode.INTERNAL,
            grpc.StatusCode.UNAUTHENTICATED,
        )
    },
}


@pytest.mark.parametrize("fails", FAILURES.values(), ids=FAILURES)
def test_a_late_or_failed_call_to_a_service_is_unavailable_and_no_release(open_house, wire, fails):
    scripted, channel = wire
    scripted.assess = scripted.protect = fails
    for services in ({"risk": RemoteRisk(channel, 0.2)}, {"protection": RemoteProtection(channel, 0.2)}):
        house = open_house(**services)
        began = time.monotonic()
        with pytest.raises(Unavailable) as caught:
            house.ask(**UNSAFE)
        assert time.monotonic() - began < 5
        assert "17" not in str(caught.value)
        assert nothing_left(house)
        assert house.ledger.queries(None, (), 10) == []


@pytest.mark.parametrize(
    "says",
    [
        finding(cells=[10**6]),
        finding(cells=[2**31 - 1]),
        finding(cells=[0, 0]),
        finding(figure=np.nan),
        finding(bound=-np.inf),
        finding(rule=77),
        finding(consequence=77),
        risk_pb2.AssessTableResponse(unchecked=[77]),
        risk_pb2.AssessTableResponse(risk=policy_pb2.TableRisk(maximum=np.nan)),
    ],
    ids=lambda says: " ".join(str(says).split()),
)
def test_findings_that_make_no_sense_release_no_small_cell(open_house, wire, says):
    scripted, channel = wire
    scripted.assess = lambda request, context: says
    house = open_house(risk=RemoteRisk(channel, 5.0))
    try:
        answered = house.ask(**UNSAFE)
    except Unavailable:
        assert house.ledger.queries(None, (), 10) == []
        assert nothing_left(house)
    else:
        shown = cells(answered) if answered.decision.HasField("table") else {}
        assert all(figures[0] is None or figures[0] == 0 or figures[0] >= 10 for figures in shown.values())


@pytest.mark.parametrize(
    "says",
    [
        protection_pb2.ProtectTableResponse(),
        protection_pb2.ProtectTableResponse(proof=protection_pb2.PROOF_PROVED),
        protection_pb2.ProtectTableResponse(proof=77, withheld=[0]),
        protection_pb2.ProtectTableResponse(proof=protection_pb2.PROOF_PROVED, withheld=[168]),
        protection_pb2.ProtectTableResponse(proof=protection_pb2.PROOF_PROVED, withheld=[5, 5]),
        protection_pb2.ProtectTableResponse(
            proof=protection_pb2.PROOF_PROVED,
            withheld=range(168),
            witnesses=protection_pb2.Witnesses(tables=2**31, cells=[0], records=[1], units=[1]),
        ),
        protection_pb2.ProtectTableResponse(
            proof=protection_pb2.PROOF_PROVED,
            withheld=range(168),
            witnesses=protection_pb2.Witnesses(tables=1, cells=[0], records=[1, 2, 3], units=[1]),
        ),
    ],
    ids=["nothing", "proved", "unknown proof", "no cell", "a cell twice", "2^31 tables", "too many records"],
)
def test_patterns_that_make_no_sense_release_nothing(open_house, wire, says):
    scripted, channel = wire
    scripted.protect = lambda request, context: says
    house = open_house(protection=RemoteProtection(channel, 5.0))
    try:
        answered = house.ask(**UNSAFE)
    except Unavailable:
        assert house.ledger.queries(None, (), 10) == []
    else:
        assert (verdict(answered), reasons(answered)) == ("REFERRED", ["UNPROVED"])
    assert nothing_left(house)


# The ledger


@pytest.mark.parametrize(
    "request_", [{"rows": ["site"]}, UNSAFE, {"rows": ["site", "year", "female", "plan"]}]
)
def test_what_the_ledger_cannot_record_is_no_answer(open_house, monkeypatch, request_):
    house = open_house()

    def fail(*arguments: Any) -> Any:
        raise LedgerUnavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(house.ledger, "append_decision", fail)
        with pytest.raises((Unavailable, LedgerError)):
            house.ask(**request_)
    assert nothing_left(house)
    assert house.ledger.queries(None, (), 10) == []
    assert house.ask(**request_).repeated is False


def test_a_head_that_moves_some_times_is_followed_and_one_that_never_rests_is_unavailable(
    open_house, monkeypatch
):
    house = open_house()
    append, tries = house.ledger.append_decision, []

    def moving(until: float) -> Callable[..., Any]:
        def attempt(event: Any, sequence: int | None, *allowances: Any) -> Any:
            tries.append(sequence)
            if len(tries) <= until:
                raise HeadMoved(99)
            return append(event, sequence, *allowances)

        return attempt

    monkeypatch.setattr(house.ledger, "append_decision", moving(until=np.inf))
    with pytest.raises(Unavailable):
        house.ask(rows=["site"])
    assert len(tries) == 20
    assert nothing_left(house)
    tries.clear()
    monkeypatch.setattr(house.ledger, "append_decision", moving(until=7))
    assert verdict(house.ask(rows=["site"])) == "RELEASED"
    assert len(tries) == 8
    assert house.ledger.verify().ok


def test_what_others_released_meanwhile_is_known_before_this_leaves(open_house, monkeypatch):
    house = open_house()
    asked = {"rows": ["female"], "site": ["3"], "year": ["2"]}
    years = house.engine.dataset("randhie").level("education", "years").codes[:-1]
    append, first = house.ledger.append_decision, []

    def somebody_is_faster(event: Any, sequence: int | None, *allowances: Any) -> Any:
        if not first:
            first.append(sequence)
            # One person of 694 in site 3 and year 2 has no education.
            monkeypatch.undo()
            assert verdict(house.ask(**asked, education=years)) == "RELEASED"
        return append(event, sequence, *allowances)

    monkeypatch.setattr(house.ledger, "append_decision", somebody_is_faster)
    answered = house.ask(**asked)
    assert first
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["DIFFERENCING"])


def test_a_query_whose_time_is_over_is_not_decided(open_house):
    house = open_house()
    with pytest.raises(Unavailable):
        house.facility.query_table(house.researcher, table_request(**UNSAFE), Pace(0.0))
    assert nothing_left(house)
    assert house.ledger.queries(None, (), 10) == []


@pytest.mark.parametrize("looks", [5, 20, 40])
def test_work_for_a_caller_who_has_gone_stops_in_the_middle(open_house, looks):
    house = open_house()
    assert verdict(house.ask(**UNSAFE)) == "RELEASED_PROTECTED"
    # Whether its refusal would tell a withheld cell takes linear algebra to see, which looks at the time.
    many_cells = table_request(rows=["age"], columns=["education"], site=["6"], female=["1"])
    clock = itertools.count()
    with pytest.raises(TimeOver):
        house.facility.query_table(
            house.researcher, many_cells, Pace(looks, clock=lambda: float(next(clock)))
        )
    assert next(clock) == looks + 1
    assert len(house.ledger.queries(None, (), 10)) == 1


# Processes that die


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    made = ServedHouse(tmp_path_factory.mktemp("a house of processes"))
    try:
        assert made.register_randhie().status_code == 201
        yield made
    finally:
        made.stop()


def is_answer(response: httpx.Response) -> bool:
    return response.status_code < 300


def test_a_facility_that_was_killed_still_knows_what_has_left(served):
    assert served.register_randhie("known").status_code == 201
    asked = {"rows": ["plan"], "columns": ["site"], "figures": ["UNITS", "RECORDS"]}
    released = served.ask("known", **asked)
    assert released.status_code == 201, released.text
    assert released.json()["verdict"] == "RELEASED_PROTECTED"
    served.kill("facility")
    served.restart("facility")
    repeated = served.ask("known", **asked)
    assert (repeated.status_code, repeated.content) == (200, released.content)
    assert served.send("GET", released.headers["location"]).json()["decision"] == released.json()
    # The plan by site without year 4: six persons of site 2 and plan 17 by subtraction.
    refused = served.ask("known", **asked, year=["1", "2", "3", "5"]).json()
    assert (refused["verdict"], codes_of(refused)) == ("REFUSED", ["DIFFERENCING"])
    with served.ledger() as ledger:
        assert ledger.verify().ok


def test_while_the_second_place_cannot_be_written_nothing_is_answered_and_nothing_is_lost(served):
    heads = served.settings.state_dir / "heads"
    away = heads.with_name("heads away")
    earlier = served.ask(rows=["site"])
    assert is_answer(earlier)
    asked = {"rows": ["hlthp"], "columns": ["female"]}
    heads.rename(away)
    heads.write_text("the disk that was mounted here is gone")
    try:
        for _ in range(2):
            failed = served.ask(**asked)
            assert failed.status_code == 503
            assert failed.headers["content-type"] == "application/problem+json"
            assert failed.headers["retry-after"]
            assert "table" not in failed.text
        assert httpx.get(f"{served.metrics_address('facility')}/readyz").status_code == 503
        assert httpx.get(f"{served.metrics_address('facility')}/healthz").status_code == 200
    finally:
        heads.unlink()
        away.rename(heads)
    answered = served.ask(**asked)
    assert answered.status_code in (200, 201)
    assert answered.json()["verdict"] in ("RELEASED", "RELEASED_PROTECTED")
    assert served.ask(rows=["site"]).content == earlier.content
    assert httpx.get(f"{served.metrics_address('facility')}/readyz").status_code == 200
    with served.ledger() as ledger:
        assert ledger.verify().ok


class Mute(LocalRisk):
    def assess_table(self, *asked):
        return Assessment((), None, ())


def test_risk_without_findings_releases_no_difference_of_one_person(engine, tmp_path):
    house = build(tmp_path, engine=engine, risk=Mute())
    years = engine.dataset("randhie").level("education", "years").codes[:-1]
    asked = {"rows": ["female"], "site": ["3"], "year": ["2"]}
    assert verdict(house.ask(**asked, education=years)) == "RELEASED"
    refused = house.ask(**asked)
    assert (verdict(refused), reasons(refused)) == ("REFUSED", ["DIFFERENCING"])


def test_risk_without_findings_releases_no_table_of_too_small_a_population(engine, tmp_path):
    house = build(tmp_path, engine=engine, risk=Mute())
    refused = house.ask(rows=["idp"], site=["2"], plan=["5"], year=["4"])
    assert (verdict(refused), reasons(refused)) == ("REFUSED", ["MINIMUM_BASE"])


def test_after_a_grand_total_other_tables_can_still_be_protected(engine, tmp_path):
    house = build(tmp_path, engine=engine)
    assert verdict(house.ask()) == "RELEASED"
    assert verdict(house.ask(rows=["plan"], columns=["site"])) == "RELEASED_PROTECTED"


def test_while_the_ledger_does_not_answer_keys_cannot_be_checked(engine, tmp_path, monkeypatch):
    house = build(tmp_path, engine=engine)
    credentials = Credentials(house.ledger)
    key, _ = credentials.create("researcher", "ada", "test", 1)
    servicer = FacilityServicer(house.facility, house.ledger.key_ring)
    running = Running(
        "facility",
        lambda server: facility_pb2_grpc.add_FacilityServiceServicer_to_server(servicer, server),
        [SERVICE],
        FacilityServer(port=0, metrics_port=0),
        authenticator(credentials),
    )
    running.start()

    def gone(*_):
        raise sqlalchemy.exc.OperationalError("SELECT", {}, Exception("connection refused"))

    with grpc.insecure_channel(running.address) as channel:
        call = facility_pb2_grpc.FacilityServiceStub(channel).GetStatus
        metadata = ((AUTHORIZATION_KEY, f"Bearer {key}"),)
        assert call(pb.GetStatusRequest(), timeout=5, metadata=metadata).ready
        monkeypatch.setattr(house.ledger._engine, "connect", gone)
        with pytest.raises(grpc.RpcError) as caught:
            call(pb.GetStatusRequest(), timeout=5, metadata=metadata)
    running.stop(0)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
