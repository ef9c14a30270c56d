"""The estimates of a file's risk in words: side by side, by uniqueness models, by log-linear models."""

from sdcgate.cli.assessment.parts import Section, Table, count, one_in, percent
from sdcgate.methods.risk.file_report import (
    FileAssessment,
    FileFacts,
    KeyCells,
    LogLinearSection,
    SmoothingSection,
    UniquenessSection,
)
from sdcgate.methods.risk.uniqueness import Uniqueness
from sdcgate.methods.risk.uniqueness_fit import size_fit

FITS = 1.96
"""A criterion further from 0 says that the model does not fit, at 95%."""

APART = 1.25
"""Estimates of models that fit differ if the largest is so many times the smallest."""

ALL_ORDERED = (
    "All key variables are ordered: in our study the smoothed estimate was then nearer to the truth than the "
    "recommended one."
)


def estimates_section(found: FileAssessment) -> Section:
    """Every estimate of tau_2, side by side."""
    rows: list[tuple[str, ...]] = []
    if found.individual is not None:
        tau = found.individual.risk.expected_matches_uniques
        rows.append(("design (individual risk)", count(tau), "-", "not tested; too low where keys are many"))
    for model in found.log_linear:
        low, high = model.interval
        rows.append(
            (
                f"log-linear, {model.name}",
                count(model.tau_2),
                f"{count(low)} to {count(high)}",
                _goodness(model),
            )
        )
    if found.smoothing is not None:
        rows.append(_smoothing_row(found.smoothing, found.facts))
    if found.uniqueness is not None:
        uniques = found.key_cells.sizes[0]
        for one in found.uniqueness.models:
            estimate = uniques * float(one.theta_s)
            told = _by_sizes(one, found.key_cells)
            rows.append((f"uniqueness, {one.model}", count(estimate), "-", told))
    chosen = found.recommended
    words = []
    if chosen is not None:
        words.append(f"Recommended: {chosen.says}")
        low, high = chosen.interval
        told = "the models disagree: a compromise" if chosen.doubtful else "bias taken off"
        told = "of fewer keys: too low" if chosen.fewer else told
        rows.insert(0, ("recommended", count(chosen.tau_2), f"{count(low)} to {count(high)}", told))
    words.append(
        "The expected number of correct matches of sample uniques (tau_2), by every estimator that applies. "
        "They differ by what they take the population to be like; the interval of a model holds only if the "
        "model does."
    )
    words += [_searched(model, found.facts) for model in found.log_linear if model.ended]
    if found.smoothing is not None and len(found.smoothing.variables) == len(found.facts.keys):
        words.append(ALL_ORDERED)
    table = Table(("estimator", "tau_2", "95% interval", "how well it fits"), tuple(rows))
    return Section("Which estimate to trust", tuple(words), (table,))


def _smoothing_row(found: SmoothingSection, facts: FileFacts) -> tuple[str, ...]:
    along = ", ".join(facts.keys[place].key.title for place in found.variables)
    if abs(found.standardised) <= FITS:
        told = f"fits ({found.standardised:.2f})"
    else:
        wrong = "understates" if found.standardised > 0 else "overstates"
        told = f"neighbours do not tell the uniques, {wrong} ({found.standardised:.2f})"
    return (f"smoothed along {along}", count(found.tau_2), "-", told)


def _searched(model: LogLinearSection, facts: FileFacts) -> str:
    """Which model a forward search ended in, and why there."""
    taken = [
        " x ".join(facts.keys[place].key.title for place in one) for one in model.generators if len(one) > 1
    ]
    return (
        f"The {model.name} for a log-linear model took in {', '.join(taken) or 'no interaction'}; it "
        f"ended as {model.ended}."
    )


def uniqueness_section(found: UniquenessSection, cells: KeyCells) -> Section:
    """theta_U by the design beside the models."""
    words = [
        "How often a sample unique is unique in the population too, and how likely a match with one is "
        "correct (Skinner and Elliot; Skinner and Carter)."
    ]
    if found.theta_u is not None:
        low, high = found.theta_u.interval
        words.append(
            f"By the design alone, without a model: theta_U = {found.theta_u.value:.4g} "
            f"(95% interval {low:.4g} to {high:.4g}), a match with a sample unique is correct in "
            f"{one_in(found.theta_u.value)} cases. That is for a random person of the population, who mostly "
            "has a common key; tau_2 above starts from the sample uniques, and is a larger share of them."
        )
    rows = tuple(
        (
            one.model,
            f"{float(one.theta_u):.4g}",
            f"{float(one.theta_s):.4g}",
            percent(float(one.pr_pu_given_su)),
            percent(float(one.pr_pu)),
            count(float(one.population_uniques)),
            " / ".join(count(size) for size in one.expected_sizes[:3]),
        )
        for one in found.models
    )
    headers = (
        "model",
        "theta_U",
        "theta_s",
        "Pr(PU|SU)",
        "Pr(PU)",
        "population uniques",
        "keys of 1/2/3 expected",
    )
    if rows:
        words.append(_models_by_sizes(found.models, cells))
    return Section("Uniqueness in the population", tuple(words), (Table(headers, rows),) if rows else ())


def _models_by_sizes(models: tuple[Uniqueness, ...], cells: KeyCells) -> str:
    """Which of the models fit the keys of 1, 2 and 3 units, and what that leaves open."""
    observed = " / ".join(count(size) for size in cells.sizes[:3])
    verdicts = "; ".join(f"{one.model} {_by_sizes(one, cells)}" for one in models)
    text = f"Held against the keys of 1, 2 and 3 units that the file has ({observed}): {verdicts}."
    estimates = [
        cells.sizes[0] * float(one.theta_s)
        for one in models
        if size_fit(one.expected_sizes, cells.sizes).rough
    ]
    if not estimates:
        return f"{text} None of them is to be quoted."
    if len(estimates) < len(models):
        text += " Do not quote a model that does not fit."
    if max(estimates) > APART * min(estimates):
        text += (
            f" Those that do give a tau_2 from {count(min(estimates))} to {count(max(estimates))}: how many "
            "keys there are of each size does not tell which is right."
        )
    return text


def _by_sizes(model: Uniqueness, cells: KeyCells) -> str:
    fit = size_fit(model.expected_sizes, cells.sizes)
    if fit.fits:
        return "fits"
    few = "many" if fit.deviation > 0 else "few"
    units = "1 unit" if fit.size == 1 else f"{fit.size} units"
    return (
        f"{'fits roughly' if fit.rough else 'does not fit'} "
        f"({abs(fit.deviation):.0%} too {few} keys of {units})"
    )


def log_linear_section(models: tuple[LogLinearSection, ...]) -> Section:
    """Log-linear models with their criteria."""
    words = [
        "The frequency of every possible key in the population, by models of the margins (Skinner and "
        "Shlomo). A criterion above 1.96 says that the model is too simple and overstates the risk, one "
        "below -1.96 that it is too rich and understates it."
    ]
    if models[0].pseudo:
        words.append("Weights differ: the models are fitted to weighted counts (pseudo maximum likelihood).")
    rows = tuple(
        (
            one.name,
            count(one.tau_1),
            count(one.tau_2),
            count(one.tau),
            f"{float(one.criteria.standardised_1):.2f}",
            f"{float(one.criteria.standardised_2):.2f}",
            _goodness(one),
        )
        for one in models
    )
    headers = (
        "model",
        "population uniques among sample uniques",
        "tau_2",
        "tau (all)",
        "criterion 1",
        "criterion 2",
        "verdict",
    )
    return Section("Log-linear models", tuple(words), (Table(headers, rows),))


def _goodness(model: LogLinearSection) -> str:
    criterion = float(model.criteria.standardised_2)
    if not model.converged:
        return "not converged: margins are not met"
    if abs(criterion) <= FITS:
        return f"fits ({criterion:.2f})"
    return (
        f"too simple, overstates ({criterion:.2f})"
        if criterion > 0
        else f"too rich, understates ({criterion:.2f})"
    )
