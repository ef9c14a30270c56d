"""Which factors of a term are coded in full, which without their reference, so that no column is redundant.

Chambers and Hastie (1992), Statistical Models in S, section 2.4.1, as patsy does it: a term stands for its
subterms that no earlier term has, and a shorter subterm is absorbed by a longer one, whose factor is then
coded in full.
"""

from dataclasses import dataclass
from itertools import combinations

from sdcgate.methods.outputs.formula import Factor, Numeric, Term, each_once, in_order


@dataclass(frozen=True, slots=True)
class Coding:
    """Columns of a term: its factors with whether each is coded in full, others of the term left out."""

    factors: tuple[tuple[Factor, bool], ...]
    numerics: tuple[Numeric, ...]


@dataclass(frozen=True, slots=True)
class CodedTerm:
    """A term and the codings that its columns are made of, in their order."""

    term: Term
    codings: tuple[Coding, ...]


_Subterm = frozenset[tuple[Factor, bool]]


def ordered_terms(intercept: bool, written: tuple[Term, ...]) -> tuple[Term, ...]:
    """Terms in canonical order where the order makes no difference, and else as they were written.

    Of `b:a` without `a` and `b` themselves patsy gives `a` a column of its own, and `b` within each code of
    it; of `a:b` the other way round. The columns span the same, and the coefficients are others.
    """
    written = tuple(sorted(each_once(written), key=len))
    canonical = in_order(written)
    return (
        canonical if _coded_columns(intercept, written) == _coded_columns(intercept, canonical) else written
    )


def _coded_columns(intercept: bool, terms: tuple[Term, ...]) -> frozenset[tuple[object, ...]]:
    codings = (coding for one in code_terms(intercept, terms) for coding in one.codings)
    return frozenset((frozenset(coding.factors), frozenset(coding.numerics)) for coding in codings)


def code_terms(intercept: bool, terms: tuple[Term, ...]) -> tuple[CodedTerm, ...]:
    """All terms with their codings: those without measures first, then by the measures they have.

    Among terms with the same measures, those with fewer predictors come first.
    """
    buckets: dict[frozenset[Numeric], list[Term]] = {frozenset(): [()] if intercept else []}
    for term in terms:
        measures = frozenset(part for part in term if isinstance(part, Numeric))
        buckets.setdefault(measures, []).append(term)
    coded = []
    for of_measures in buckets.values():
        used: set[_Subterm] = set()
        for term in sorted(of_measures, key=len):
            coded.append(CodedTerm(term, _codings(term, used)))
    return tuple(coded)


def _codings(term: Term, used: set[_Subterm]) -> tuple[Coding, ...]:
    factors = [part for part in term if isinstance(part, Factor)]
    numerics = tuple(part for part in term if isinstance(part, Numeric))
    subterms: list[_Subterm] = []
    for size in range(len(factors) + 1):
        for subset in combinations(factors, size):
            subterm = frozenset((factor, False) for factor in subset)
            if subterm not in used:
                subterms.append(subterm)
    used.update(subterms)
    while _absorb_one(subterms):
        pass
    codings = []
    for subterm in subterms:
        in_full = dict(subterm)
        chosen = tuple((factor, in_full[factor]) for factor in factors if factor in in_full)
        codings.append(Coding(chosen, numerics))
    return tuple(codings)


def _absorb_one(subterms: list[_Subterm]) -> bool:
    for shorter_at, shorter in enumerate(subterms):
        for longer_at in range(shorter_at + 1, len(subterms)):
            longer = subterms[longer_at]
            if len(longer) - len(shorter) == 1 and longer > shorter:
                ((factor, _),) = longer - shorter
                subterms[longer_at] = shorter | {(factor, True)}
                del subterms[shorter_at]
                return True
    return False
