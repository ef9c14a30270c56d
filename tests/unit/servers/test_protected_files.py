"""ProtectMicrodata over gRPC: a file that comes back swapped, its report, and all that is wrong."""

import grpc
import numpy as np
import pyarrow as pa
import pytest

from arrow_pieces import ipc, requests
from protection_server import served_protection
from risk_server import told
from sdcgate.servers import errors, protected_files
from sdcgate.servers.authentication import KeyCaller
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.protected_files import FileProtector
from sdcgate.servers.protection import SERVICE, ProtectionServicer
from sdcgate.servers.received_files import FileLane
from sdcgate.servers.secret_files import secret
from sdcgate.servers.settings import GrpcServer
from sdcgate_proto.sdcgate.protection.v1 import microdata_pb2 as pb
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2, protection_pb2_grpc

LARGEST = 1_000_000
SECRET = bytes(range(32))
RECORDS = pb.RecordSwapping(
    hierarchy=["county", "town"],
    household="home",
    similar=[{"variables": ["sex"]}, {}],
    risk_variables=["age"],
    swap_rate=0.3,
)
RANKS = pb.RankSwapping(variables=[{"column": "income"}], rank_share=0.1)


def people(number=400):
    chance = np.random.default_rng(1)
    home = np.arange(number) // 2
    return pa.table(
        {
            "home": home,
            "county": home % 2,
            "town": pa.array([f"t{place % 6}" for place in home]),
            "age": chance.integers(0, 30, number),
            "sex": pa.array(["f", "m"] * (number // 2)),
            "income": chance.normal(size=number),
            "note": pa.array([f"note {place}" for place in range(number)]),
        }
    )


def options(**given):
    return pb.ProtectMicrodataOptions(**given)


def protector(largest=LARGEST, at_once=1, own=lambda: SECRET):
    return FileProtector(FileLane(largest, at_once), own)


@pytest.fixture(scope="module")
def stub():
    with served_protection(protector()) as made:
        yield made


def sent(asked, content=None, piece=5000):
    return requests(
        pb.ProtectMicrodataRequest, asked, piece, arrow=ipc(people()) if content is None else content
    )


def protected(stub, asked, content=None):
    """The report and the table that come back."""
    first, *rest = stub.ProtectMicrodata(sent(asked, content), timeout=30)
    assert not first.arrow
    assert not any(one.HasField("report") for one in rest)
    return first.report, pa.ipc.open_stream(b"".join(one.arrow for one in rest)).read_all()


def failure(answers):
    """How a call ends that sends nothing."""
    with pytest.raises(grpc.RpcError) as caught:
        next(answers)
    return caught.value


def test_a_file_comes_back_with_its_households_elsewhere(stub):
    report, after = protected(stub, options(record_swapping=RECORDS))
    before, found = people(), report.record_swapping
    assert after.schema == before.schema
    still = ["home", "age", "sex", "income", "note"]
    assert after.select(still).equals(before.select(still))
    moved = np.array(after["town"]) != np.array(before["town"])
    moved |= np.array(after["county"]) != np.array(before["county"])
    assert moved.sum() == found.swapped_records == 2 * found.swapped_households
    assert found.swapped_households >= 60
    assert found.households == 200
    assert [one.level for one in found.levels] == ["county", "town"]
    assert found.levels[1].moved_records == found.swapped_records
    assert {(one.level, *one.variables) for one in found.tables} == {
        (level, name) for level in ("county", "town") for name in ("age", "sex")
    }
    assert all(one.changed == 0 for one in found.tables if list(one.variables) == ["sex"])
    assert sum(found.by_profile) == found.swapped_households


def test_a_file_comes_back_with_its_values_elsewhere(stub):
    report, after = protected(stub, options(rank_swapping=RANKS))
    before = people()
    assert after.drop_columns("income").equals(before.drop_columns("income"))
    assert sorted(after["income"].to_pylist()) == sorted(before["income"].to_pylist())
    (found,) = report.rank_swapping.variables
    assert (found.column, found.values, found.window) == ("income", 400, 40)
    assert found.changed > 300
    assert not report.rank_swapping.HasField("mean_correlation_change")


def test_the_same_file_by_the_same_options_gives_the_same_answer_whatever_its_pieces(stub):
    asked = options(record_swapping=RECORDS)
    one = protected(stub, asked)
    assert protected(stub, asked) == one
    in_batches = pa.concat_tables([people().slice(0, 91), people().slice(91)])
    report, after = protected(stub, asked, ipc(in_batches))
    assert report == one[0]
    assert after.to_pydict() == one[1].to_pydict()
    with served_protection(protector(own=lambda: SECRET[::-1])) as elsewhere:
        assert protected(elsewhere, asked)[1] != one[1]


def test_other_tables_to_compare_draw_nothing_anew_and_other_rates_do(stub):
    asked = options(record_swapping=RECORDS)
    _, after = protected(stub, asked)
    asked.record_swapping.tables.add(variables=["age", "sex"])
    report, same = protected(stub, asked)
    assert same == after
    assert [list(one.variables) for one in report.record_swapping.tables] == [["age", "sex"]] * 2
    asked.record_swapping.swap_rate = 0.301
    assert protected(stub, asked)[1] != after


def test_a_large_file_comes_in_pieces_that_every_client_takes(stub):
    wide = people().append_column("wide", pa.array(["x" * 2000] * 400))
    assert len(ipc(wide)) < LARGEST
    answers = list(stub.ProtectMicrodata(sent(options(rank_swapping=RANKS), ipc(wide)), timeout=30))
    assert sum(len(one.arrow) for one in answers) >= len(ipc(wide)) * 0.9
    assert max(one.ByteSize() for one in answers) < 2 * protected_files.PIECE_BYTES


@pytest.mark.parametrize(
    ("asked", "paths"),
    [
        (options(), {"options.method"}),
        (options(record_swapping={}), {"options.record_swapping.hierarchy"}),
        (
            options(record_swapping={"hierarchy": ["county"], "swap_rate": 5.0}),
            {"options.record_swapping.swap_rate"},
        ),
        (
            options(record_swapping={"hierarchy": ["county"], "swap_rate": float("nan")}),
            {"options.record_swapping.swap_rate"},
        ),
        (
            options(rank_swapping={"variables": [{"column": "age"}], "rank_share": float("nan")}),
            {"options.rank_swapping.rank_share"},
        ),
        (
            options(record_swapping={"hierarchy": ["county", "twon"], "risk_variables": ["agee"]}),
            {"options.record_swapping.hierarchy[1]", "options.record_swapping.risk_variables[0]"},
        ),
        (
            options(record_swapping={"hierarchy": ["note"], "household": "home"}),
            {"options.record_swapping.hierarchy[0]"},
        ),
        (
            options(rank_swapping={"variables": [{"column": "sex"}], "rank_share": 0.1}),
            {"options.rank_swapping.variables[0].column"},
        ),
        (options(rank_swapping={"variables": [{"column": "age"}]}), {"options.rank_swapping.rank_share"}),
        (
            options(rank_swapping={"variables": [{"column": "age"}], "rank_share": 0.001}),
            {"options.rank_swapping.rank_share"},
        ),
    ],
)
def test_all_that_is_wrong_is_told_with_its_path_and_without_a_value(stub, asked, paths):
    found = told(lambda: list(stub.ProtectMicrodata(sent(asked))), "note 0", "t1")
    assert set(found) == paths


def test_what_is_no_file_is_told(stub):
    asked = options(rank_swapping=RANKS)
    assert set(told(lambda: list(stub.ProtectMicrodata(sent(asked, b"none"))))) == {"arrow"}
    assert set(told(lambda: list(stub.ProtectMicrodata(sent(asked, ipc(people().slice(0, 0))))))) == {"arrow"}
    assert set(told(lambda: list(stub.ProtectMicrodata(iter(()))))) == {"options"}
    assert "1000000 bytes" in failure(stub.ProtectMicrodata(sent(asked, bytes(LARGEST + 1)))).details()


def test_without_a_secret_nothing_is_protected_and_the_operator_is_told_what_to_do(tmp_path):
    (tmp_path / "key").write_bytes(b"too short")
    with served_protection(protector(own=lambda: secret(tmp_path / "key"))) as stub:
        failed = failure(stub.ProtectMicrodata(sent(options(rank_swapping=RANKS)), timeout=30))
    assert failed.code() is grpc.StatusCode.UNAVAILABLE
    assert "SDCGATE_PROTECTION__SWAPPING_SECRET_FILE" in failed.details()


def test_the_secret_is_made_when_it_is_first_needed_and_kept(tmp_path):
    path = tmp_path / "keys" / "swapping.key"
    asked = options(record_swapping=RECORDS)
    with served_protection(protector(own=lambda: secret(path))) as stub:
        assert not path.exists()
        one = protected(stub, asked)[1]
    assert path.stat().st_mode & 0o077 == 0
    with served_protection(protector(own=lambda: secret(path))) as stub:
        assert protected(stub, asked)[1] == one


def test_whoever_goes_meanwhile_ends_the_work_before_anything_is_drawn():
    drawn = []

    def gone():
        raise errors.DeadlineExceeded

    protects = protector(own=lambda: drawn.append(1) or SECRET)
    with pytest.raises(errors.DeadlineExceeded):
        list(protects.protect(sent(options(rank_swapping=RANKS)), gone))
    assert not drawn


@pytest.mark.parametrize(
    ("asked", "looks"), [({"record_swapping": RECORDS}, 7), ({"rank_swapping": RANKS}, 3)]
)
def test_the_work_is_looked_after_before_the_swaps_and_each_comparison(asked, looks):
    """Two tables by two levels, or one variable: and once before the work, and once after it."""
    calls = []
    list(protector().protect(sent(options(**asked)), lambda: calls.append(1)))
    assert len(calls) == looks


def test_a_second_file_is_told_to_come_again():
    protects = protector()
    answers = protects.protect(sent(options(rank_swapping=RANKS)), lambda: None)
    next(answers)
    with pytest.raises(errors.ResourceExhausted):
        next(protects.protect(sent(options(rank_swapping=RANKS)), lambda: None))
    list(answers)
    assert list(protects.protect(sent(options(rank_swapping=RANKS)), lambda: None))


class Failing(FileProtector):
    """Fails when half of the file is sent."""

    def protect(self, requests, heed):
        yield pb.ProtectMicrodataResponse(report=pb.ProtectMicrodataReport())
        raise RuntimeError(f"record {len(list(requests))} has income 12345")


def test_a_call_that_fails_has_sent_nothing_of_the_file_and_no_word_of_it():
    with served_protection(Failing(FileLane(LARGEST, 1), lambda: SECRET)) as stub:
        failed = failure(stub.ProtectMicrodata(sent(options(rank_swapping=RANKS)), timeout=30))
    assert failed.code() is grpc.StatusCode.INTERNAL
    assert "12345" not in str(failed)


def answered(call, role):
    """Name of the status that a call ends with for somebody of a role, whose name is the key."""
    try:
        list(call([("authorization", f"Bearer {role}")]))
    except grpc.RpcError as error:
        return error.code().name
    return "OK"


def test_files_are_protected_for_stewards_alone_who_check_no_tables():
    servicer = ProtectionServicer(files=protector())
    running = Running(
        "protection",
        lambda server: protection_pb2_grpc.add_ProtectionServiceServicer_to_server(servicer, server),
        [SERVICE],
        GrpcServer(),
        lambda role: KeyCaller("key-1", role, "someone"),
    )
    running.start()
    roles = ("researcher", "portal", "checker", "operator", "steward")
    try:
        with grpc.insecure_channel(running.address) as channel:
            stub = protection_pb2_grpc.ProtectionServiceStub(channel)

            def protects(shown):
                return stub.ProtectMicrodata(sent(options(rank_swapping=RANKS)), timeout=30, metadata=shown)

            def audits(shown):
                return [stub.AuditTable(protection_pb2.AuditTableRequest(), timeout=30, metadata=shown)]

            assert [role for role in roles if answered(protects, role) == "OK"] == ["steward"]
            assert {role: answered(audits, role) for role in roles} == {
                **dict.fromkeys(roles[:3], "INVALID_ARGUMENT"),
                **dict.fromkeys(roles[3:], "PERMISSION_DENIED"),
            }
    finally:
        running.stop(0)
