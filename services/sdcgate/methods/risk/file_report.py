"""What the assessment of a file of microdata says, section by section; made by `file_assessment`."""

from dataclasses import dataclass, field

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.file_level import FileRisk, RiskHistogram, RiskThreshold
from sdcgate.methods.risk.file_numbers import NumbersSection
from sdcgate.methods.risk.file_release import RuleSet, WeightsSection, WorstTablesSection
from sdcgate.methods.risk.household import HierarchicalFileRisk, SizeRisks
from sdcgate.methods.risk.loglinear import Criteria
from sdcgate.methods.risk.microdata import KeyVariable
from sdcgate.methods.risk.recoding_comparison import RecodingComparison
from sdcgate.methods.risk.recommendation import Recommendation
from sdcgate.methods.risk.scenarios import ScenarioRisk, Together
from sdcgate.methods.risk.threshold import ClassMinimum
from sdcgate.methods.risk.uniqueness import Estimate, Uniqueness


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """One key variable."""

    key: KeyVariable
    categories: int
    """Values that occur."""
    missing: int
    """Units without a value."""
    uniques_without: int | None
    """Sample uniques that would be left without this variable; None where it is the only one."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the file is."""

    records: int
    units: int
    most_records: int
    """Records of the unit that has the most."""
    weighted: bool
    fraction: float | None
    """Sampling fraction, from the weights where there are."""
    population: float | None
    """Sum of the weights of the units."""
    keys: tuple[KeyFacts, ...]


@dataclass(frozen=True, slots=True)
class KeyCells:
    """The keys that occur; the numbers of units are with missing values as they were asked for."""

    cells: int
    sample_uniques: int
    """Units with f_k = 1."""
    smallest: int
    """The smallest f_k: the k for which the file is k-anonymous."""
    below_three: int
    """Units with f_k < 3: they violate 3-anonymity."""
    below_five: int
    sizes: tuple[int, ...]
    """Keys that 1, 2, ..., 5 units have."""


@dataclass(frozen=True, slots=True, eq=False)
class IndividualSection:
    """Individual risk by the design (Benedetti, Capobianchi and Franconi)."""

    risk: FileRisk
    histogram: RiskHistogram
    threshold: RiskThreshold
    target: RiskThreshold | None
    """The threshold for the target rate xi*; None where none was asked for."""
    riskiest: IntArray = field(repr=False)
    """Numbers of the riskiest records in the file, from 1."""
    risks: FloatArray = field(repr=False)
    """Of each unit, shape (units,)."""


@dataclass(frozen=True, slots=True)
class UniquenessSection:
    """Sample uniques against the population."""

    theta_u: Estimate | None
    """From the design alone; None where a weight is below 1."""
    models: tuple[Uniqueness, ...]


@dataclass(frozen=True, slots=True)
class LogLinearSection:
    """The risk of the file under one log-linear model."""

    name: str
    generators: tuple[tuple[int, ...], ...]
    pseudo: bool
    tau_1: float
    """Expected sample uniques that are unique in the population."""
    tau_2: float
    """Expected correct matches over sample uniques."""
    interval: tuple[float, float]
    """About 95% for tau_2, where the model holds."""
    tau: float
    """Expected correct matches over all units."""
    criteria: Criteria
    converged: bool
    """Whether the margins were met before rounds or work ran out."""
    ended: str = ""
    """Why a forward search ended in this model; empty where it was not searched for."""


@dataclass(frozen=True, slots=True)
class SmoothingSection:
    """The risk of the file smoothed along ordered variables (generalised negative binomial model)."""

    variables: tuple[int, ...]
    """Positions of the ordered key variables."""
    bandwidth: int | None
    """Categories to the farthest neighbour of the narrowest neighbourhood; None: any distance."""
    dispersion: float
    tau_1: float
    """Expected sample uniques that are unique in the population."""
    tau_2: float
    """Expected correct matches over sample uniques."""
    tau: float
    """Expected correct matches over all units."""
    expected_uniques: float
    """Sample uniques that the neighbours foretell."""
    standardised: float
    """Found less expected sample uniques over the standard error: within 1.96 where it fits."""


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdSection:
    """What households add to the risk."""

    risk: HierarchicalFileRisk
    largest: int
    """Members of the largest household."""
    unsafe_households: int
    unsafe_units: int
    sizes: SizeRisks | None
    """How recognisable households are by their size alone; None without weights of households."""


@dataclass(frozen=True, slots=True)
class PsuSection:
    """What PSUs add to the risk: who finds one member knows the area of all others."""

    psus: int
    smallest: int
    """Units of the smallest."""
    largest: int
    located: float
    """Expected PSUs of which at least one unit is matched correctly, where units are independent."""
    maximum: float
    """Largest probability of that."""
    expected_matches: float
    """Of all units, by the key."""
    expected_matches_known: float
    """The same with the PSU among the key variables."""


@dataclass(frozen=True, slots=True)
class UnsafeCombination:
    """One combination of key variables under the threshold rule."""

    keys: tuple[int, ...]
    cells: int
    unsafe_cells: int
    unsafe_units: int


@dataclass(frozen=True, slots=True)
class ThresholdSection:
    """The threshold rule."""

    minimums: tuple[int, ...]
    """How often the values of one, two, ... key variables must occur."""
    class_minimums: tuple[ClassMinimum, ...]
    """The same by how identifying key variables are."""
    looked_at: int
    """Combinations that were looked at."""
    unsafe_units: int
    """Units that are unsafe in any."""
    worst: tuple[UnsafeCombination, ...]
    """Combinations with unsafe cells, those with the most unsafe units first."""


@dataclass(frozen=True, slots=True)
class ValueShare:
    """The share of all SUDA scores that comes from units with a value, which many have."""

    key: int
    code: int
    units: int
    share: float


@dataclass(frozen=True, slots=True)
class SpecialUniquesSection:
    """SUDA and DIS."""

    maximum_size: int
    units: int
    """Units with a minimal sample unique."""
    smallest: tuple[int, ...]
    """Units whose smallest minimal sample unique has 1, 2, ... variables."""
    variables: tuple[float, ...]
    """Share of all scores from minimal sample uniques that hold each key variable."""
    values: tuple[ValueShare, ...]
    dis: float | None
    """Chance that a unique match is correct; None where no sampling fraction is known."""
    dis_suda: tuple[int, ...]
    """Units with a DIS-SUDA score of 0, up to 0.1, ... up to 1; () where no sampling fraction is known."""
    largest_dis_suda: float | None


@dataclass(frozen=True, slots=True)
class SensitiveVariable:
    """How much a key tells of one sensitive variable."""

    name: str
    alike: int
    """Units whose key has one value of it only, or none: it is known once they are found."""
    distinct: int
    """Fewest values of a key: distinct l-diversity of the file, 0 where a key has no value."""
    recursive: int
    """Recursive (2, l)-diversity of the file; 0 where a key has no value."""
    smallest_entropy: float
    """Least entropy l-diversity of a key."""
    farthest: float
    """Largest distance of a key's values from the file's: the t for which the file is t-close."""


@dataclass(frozen=True, slots=True)
class NotComputed:
    """A section, or a model in it, that could not be computed."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class FileAssessment:
    """The report on a file. A section is None where `not_computed` says why."""

    facts: FileFacts
    key_cells: KeyCells
    individual: IndividualSection | None
    recommended: Recommendation | None
    uniqueness: UniquenessSection | None
    log_linear: tuple[LogLinearSection, ...]
    households: HouseholdSection | None
    threshold: ThresholdSection | None
    special_uniques: SpecialUniquesSection | None
    sensitive: tuple[SensitiveVariable, ...]
    recodings: RecodingComparison | None
    not_computed: tuple[NotComputed, ...]
    scenarios: tuple[ScenarioRisk, ...] = ()
    scenarios_together: Together | None = None
    """All scenarios at once; None where there are fewer than two."""
    worst_tables: WorstTablesSection | None = None
    weights: WeightsSection | None = None
    """None, too, where the weights cannot tell anything: there are none, or all are the same."""
    strata: WeightsSection | None = None
    """What the stratum tells, as the weight; None, too, where none was named."""
    psu_labels: WeightsSection | None = None
    """What the PSU's label tells."""
    psus: PsuSection | None = None
    """PSUs as a level above units; None, too, where none was named."""
    rule_sets: tuple[RuleSet, ...] = ()
    smoothing: SmoothingSection | None = None
    """None, too, where no key variable is said to be ordered."""
    numbers: NumbersSection | None = None
    """None, too, where no numbers were named."""
    warnings: tuple[str, ...] = ()
    """What is odd about the file, and what was assumed."""
