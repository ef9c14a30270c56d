"""What an agency decides: its rules, who may ask what, and what happens when a rule fails."""

from sdcgate.policy.effective import EffectivePolicy
from sdcgate.policy.files import bundled_policies
from sdcgate.policy.loading import load_policy, parse_policy
from sdcgate.policy.model import AccessLevelUnknown, Policy, PolicyInvalid

__all__ = [
    "AccessLevelUnknown",
    "EffectivePolicy",
    "Policy",
    "PolicyInvalid",
    "bundled_policies",
    "load_policy",
    "parse_policy",
]
