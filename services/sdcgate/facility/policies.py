"""Which policy applies to a dataset, and which applied to a query. Policies may change while queries run."""

from collections.abc import Mapping, Sequence

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.errors import NotFound, Unavailable
from sdcgate.facility.plan import unknown
from sdcgate.ledger.events import PolicyEvent
from sdcgate.ledger.ledger import Ledger
from sdcgate.policy.effective import EffectivePolicy, canonical_text
from sdcgate.policy.model import Policy, PolicyInvalid, Problem
from sdcgate.policy.recorded import PolicyUnreadable, read_canonical
from sdcgate.policy.settings import NOT_RECORDED, settings
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import descriptor_pb2
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

ACCESS_LEVEL = "remote"
"""Access level of a dataset whose descriptor names none."""


class Policies:
    """The policies that apply now, and in the ledger those that decided."""

    def __init__(self, ledger: Ledger, policies: Mapping[str, Policy], default: str) -> None:
        self._ledger = ledger
        self._policies = policies
        self._default = default
        self._recorded: set[str] = set()

    def of(self, dataset: Dataset) -> EffectivePolicy:
        """The policy that applies to a dataset. A query asks once, and keeps it to its end.

        Raises:
            Unavailable: the descriptor names a policy that is not loaded; nothing is answered under another.
        """
        name, level = self._named(dataset)
        try:
            return self._policies[name].effective(level, dataset.name)
        except LookupError:
            raise Unavailable(f"The policy {name} has no access level {level}, or is not loaded.") from None

    def ruling(self, engine: Engine, name: str) -> EffectivePolicy:
        """The policy of a dataset's newest version, by which earlier ones are answered and reviewed as well.

        Raises:
            NotFound: there is no such dataset.
            Unavailable: as `of`.
        """
        return self.of(datasets.find(engine, name))

    def problems(self, descriptor: descriptor_pb2.Descriptor) -> list[FieldProblem]:
        """Why nothing could ever be asked under the policy of a descriptor, with the nearest names."""
        policies = self._policies
        policy = policies.get(descriptor.policy or self._default)
        if policy is None:
            return [FieldProblem("descriptor.policy", unknown("policy", descriptor.policy, list(policies)))]
        try:
            policy.effective(descriptor.access_level or ACCESS_LEVEL, descriptor.name)
        except LookupError:
            message = unknown("access level", descriptor.access_level, list(policy.access_levels))
            return [FieldProblem("descriptor.access_level", message)]
        return []

    def replace(self, policies: Mapping[str, Policy], known: Sequence[Dataset]) -> None:
        """Let other policies apply from the next query on; queries under way keep theirs.

        Raises:
            PolicyInvalid: a dataset of those known would be without a policy; the old ones go on.
        """
        problems = []
        for dataset in known:
            name, level = self._named(dataset)
            if name not in policies:
                problems.append(Problem("", f"dataset {dataset.name} needs the policy {name}"))
            elif level not in policies[name].access_levels:
                message = f"dataset {dataset.name} needs the access level {level} of {name}"
                problems.append(Problem("", message))
        if problems:
            raise PolicyInvalid("files", problems)
        # One assignment: whoever reads has all of the old policies or all of the new ones.
        self._policies = policies

    def record(self, policy: EffectivePolicy) -> None:
        """See to it that the ledger has the text of a policy before it decides."""
        if policy.hash not in self._recorded:
            text = canonical_text(policy).encode()
            self._ledger.append_policy(
                PolicyEvent(
                    policy_name=policy.name,
                    policy_hash=policy.hash,
                    access_level=policy.access_level,
                    text=text,
                )
            )
            self._recorded.add(policy.hash)

    def view(self, dataset: Dataset) -> pb.GetPolicyResponse:
        """The policy that applies to a dataset, setting by setting."""
        return _view(self.of(dataset), dataset.name)

    def view_of_decision(self, decision: pb.Decision) -> pb.GetPolicyResponse:
        """The policy by which a decision was made, setting by setting, as it was then.

        Raises:
            NotFound: the ledger does not have it, or it was recorded by a newer sdcgate.
        """
        text = self._ledger.policy_text(decision.policy.hash)
        if text is None:
            raise NotFound("The policy of this query was not recorded: it was decided by an older sdcgate.")
        try:
            policy = read_canonical(text.decode())
        except PolicyUnreadable as error:
            raise NotFound(f"The policy of this query cannot be explained: {error}.") from None
        return _view(policy, decision.dataset, NOT_RECORDED)

    def _named(self, dataset: Dataset) -> tuple[str, str]:
        """Names of the policy and of the access level that apply to a dataset."""
        descriptor = dataset.descriptor
        return descriptor.policy or self._default, descriptor.access_level or ACCESS_LEVEL


def _view(
    policy: EffectivePolicy, dataset: str, without: frozenset[str] = frozenset()
) -> pb.GetPolicyResponse:
    return pb.GetPolicyResponse(
        policy=pb.PolicyReference(name=policy.name, hash=policy.hash),
        access_level=policy.access_level,
        dataset=dataset,
        settings=[
            pb.PolicySetting(name=setting.name, value=setting.text, explanation=setting.explanation)
            for setting in settings(policy)
            if setting.name not in without
        ],
    )
