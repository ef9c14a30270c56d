"""What a decision is about: a table that was asked for, or an output that was submitted."""

import hashlib
from dataclasses import dataclass, field

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.charges import FREE, Charge
from sdcgate.facility.model_plan import ModelPlan
from sdcgate.facility.plan import Plan
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.policy.effective import EffectivePolicy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that ends in a decision, in one spelling: answered once, it is answered the same for ever."""

    dataset: Dataset
    policy: EffectivePolicy
    project: str
    canonical: bytes
    """The request without its project; of an output, nothing but a keyed digest of its cells."""
    request: pb.QueryTableRequest | None = None
    output: pb.SubmitOutputRequest | None = field(default=None, repr=False)
    published: str = ""
    """Where it was published, of a table that is entered as knowledge."""
    charge: Charge = FREE
    """What it costs, and who pays."""
    model: pb.QueryModelRequest | None = None
    statistic: pb.QueryStatisticRequest | None = None
    files: pb.SubmittedFiles | None = field(default=None, repr=False)
    """Files that cannot be read."""

    def canonical_hash(self) -> str:
        """SHA-256 of the canonical request."""
        return hashlib.sha256(self.canonical).hexdigest()

    def request_bytes(self) -> bytes:
        """The request as the ledger shows it to auditors: of an output without its facts, of files names."""
        if self.files is not None:
            return names_of(self.files).SerializeToString(deterministic=True)
        if self.output is None:
            asked = next((one for one in (self.request, self.model, self.statistic) if one is not None), None)
            return asked.SerializeToString(deterministic=True) if asked is not None else b""
        return without_facts(self.output).SerializeToString(deterministic=True)

    def record(self, decision: pb.Decision) -> release_pb2.DecisionRecord:
        """The confidential record of a decision about it, without what a checker sees."""
        return release_pb2.DecisionRecord(
            request=self.request,
            decision=decision,
            output=self.output,
            published=self.published,
            model_request=self.model,
            statistic_request=self.statistic,
            files=self.files,
        )


def asked_table(plan: Plan, request: pb.QueryTableRequest) -> Asked:
    """A table query."""
    return Asked(plan.dataset, plan.policy, plan.project, plan.canonical(), request=request)


def asked_model(plan: ModelPlan, request: pb.QueryModelRequest) -> Asked:
    """A model query."""
    return Asked(plan.dataset, plan.policy, plan.project, plan.canonical(), model=request)


def asked_statistic(plan: StatisticPlan, request: pb.QueryStatisticRequest) -> Asked:
    """A statistic query."""
    return Asked(plan.dataset, plan.policy, plan.project, plan.canonical(), statistic=request)


def asked_knowledge(plan: Plan, request: pb.QueryTableRequest, published: str) -> Asked:
    """A table that is entered as knowledge: no answer to whoever asks for it."""
    canonical = b'{"published":' + plan.canonical() + b"}"
    return Asked(plan.dataset, plan.policy, plan.project, canonical, request=request, published=published)


def asked_output(
    dataset: Dataset, policy: EffectivePolicy, output: pb.SubmitOutputRequest, key: bytes
) -> Asked:
    """A submitted output. Its figures may be confidential, so its canonical form is a keyed digest."""
    bare = pb.SubmitOutputRequest()
    bare.CopyFrom(output)
    bare.ClearField("project")
    bare.ClearField("label")
    digest = hashlib.blake2b(bare.SerializeToString(deterministic=True), key=key, digest_size=32)
    return Asked(
        dataset, policy, output.project, f'{{"output":"{digest.hexdigest()}"}}'.encode(), output=output
    )


def without_facts(output: pb.SubmitOutputRequest) -> pb.SubmitOutputRequest:
    """An output without the figures that it shows."""
    bare = pb.SubmitOutputRequest()
    bare.CopyFrom(output)
    bare.ClearField("facts")
    return bare


def asked_files(dataset: Dataset, policy: EffectivePolicy, files: pb.SubmittedFiles, key: bytes) -> Asked:
    """Files that cannot be read; by a keyed digest of their names and bytes.

    Several outputs may have the same files: each has its own name then, and its own reasons.
    """
    digest = hashlib.blake2b(key=key, digest_size=32)
    if files.name not in {file.name for file in files.files}:
        digest.update(f"{len(files.name)}={files.name}".encode())
    for file in files.files:
        digest.update(f"{len(file.name)}:{file.name}{file.sha256}".encode())
    canonical = f'{{"files":"{digest.hexdigest()}"}}'.encode()
    return Asked(dataset, policy, files.project, canonical, files=files)


def names_of(files: pb.SubmittedFiles) -> pb.SubmittedFiles:
    """Files without their bytes and checksums, which would tell what is in a small one."""
    bare = pb.SubmittedFiles()
    bare.CopyFrom(files)
    bare.ClearField("problems")
    for file in bare.files:
        file.ClearField("content")
        file.ClearField("sha256")
    return bare
