"""The calls that check tables and files of one's own; nothing of them is kept, and no verdict is given."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sdcgate_client.checks import own_linked, own_method, own_problem
from sdcgate_client.connection import Connection
from sdcgate_client.contents import json_of, object_of
from sdcgate_client.files import (
    arrow_stream,
    columns_stream,
    file_form,
    file_options,
    form,
    linkage_columns,
    linkage_options,
    model_of,
    release_stream,
)
from sdcgate_client.recodings import Levels, recoding_columns, recoding_options
from sdcgate_client.requests import items

if TYPE_CHECKING:
    import pandas
    import pyarrow


class CheckCalls(Connection):
    """What a client sends to be checked."""

    def assess_table(
        self,
        table: Mapping[str, Any],
        rules: Mapping[str, Any],
        *,
        base_units: int | None = None,
        key: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Judges a table of one's own by rules. No verdict; nothing is kept.

        Args:
            table: Dimensions and facts; see `own_table`.
            rules: Such as `{"minimum_units": {"units": 10, "consequence": "PROTECT"}}`.
            base_units: Units in the population of the table.
            key: `frequencies` and `weight_sums` of the identifying combinations, for the individual risk.

        Returns:
            `{"findings": [...], "unchecked": [...], "absent": [...]}`, and `risk` where a key was given.
        """
        body = {**table, "rules": dict(rules)}
        body |= {} if base_units is None else {"base_units": base_units}
        body |= {} if key is None else {"key": dict(key)}
        return object_of(self._call("POST", "/v1/risk:assessTable", body))

    def assess_model(
        self,
        facts: Mapping[str, Any],
        rules: Mapping[str, Any],
        *,
        printed: Mapping[str, Any] | None = None,
        significant_digits: int = 0,
        counts_base: int = 0,
    ) -> dict[str, Any]:
        """Judges a model that was fitted elsewhere by facts about it. No verdict; nothing is kept.

        Args:
            facts: Such as `{"units": 120, "records": 120, "parameters": 2, "residual_degrees": 118,
                "columns": [{"name": "region[T.s]", "term": 1, "largest_shares": [0.26]}], "terms": [...]}`;
                no record and no estimate.
            rules: Such as `{"categories": {"count": 10, "consequence": "PROTECT"}}`.
            printed: The model as it was printed, such as `{"kind": "LINEAR", "coefficients": [{"name":
                "region[T.s]", "estimate": 1.5, "standard_error": 0.5}]}`: held against itself and the facts.
            significant_digits: As many as a printed figure may have; 0 is not judged.
            counts_base: What printed counts must be multiples of; 0 is not judged.

        Returns:
            `{"findings": [...]}`, each with its `rule`, and positions of `columns` and `terms`; empty where
            no rule finds anything. `printed` has what contradicts itself, `unverified` what nothing here can
            be held against.
        """
        body: dict[str, Any] = {"facts": dict(facts), "rules": dict(rules)}
        body |= {} if printed is None else {"printed": dict(printed)}
        body |= {"significant_digits": significant_digits} if significant_digits else {}
        body |= {"counts_base": counts_base} if counts_base else {}
        return object_of(self._call("POST", "/v1/risk:assessModel", body))

    def assess_statistic(
        self,
        kind: str,
        facts: Mapping[str, Any],
        rules: Mapping[str, Any],
        *,
        standard_errors: bool = False,
        printed: Iterable[Mapping[str, Any]] = (),
        significant_digits: int = 0,
    ) -> dict[str, Any]:
        """Judges a statistic of groups that was computed elsewhere. No verdict; nothing is kept.

        Args:
            kind: Such as `"percentiles"`.
            facts: Such as `{"groups": {"units": [120, 14], "records": [120, 14]}, "percentiles": [
                {"point": 0.5, "window_units": [10, 10], "side_units": [55, 2]}]}`; no figure.
            rules: Such as `{"cells": {"minimum_units": {"units": 10, "consequence": "PROTECT"}}}`.
            standard_errors: Whether these leave with it: they tell variances.
            printed: The figures as they were printed, such as `{"name": "P50", "groups": [0, 1], "values":
                [41.5, 38.2]}`: held against each other and the findings.
            significant_digits: As many as a printed figure may have; 0 is not judged.

        Returns:
            `{"findings": [...], "unchecked": [...], "absent": [...]}`; what is unchecked is never safe.
            `printed` has what cannot be or must be withheld, `unverified` the printed figures.
        """
        body: dict[str, Any] = {"kind": kind.upper(), "facts": dict(facts), "rules": dict(rules)}
        body |= {"standard_errors": True} if standard_errors else {}
        body |= {"printed": shown} if (shown := [dict(one) for one in printed]) else {}
        body |= {"significant_digits": significant_digits} if significant_digits else {}
        return object_of(self._call("POST", "/v1/risk:assessStatistic", body))

    def estimate_individual_risk(self, **keys: Any) -> dict[str, Any]:
        """Estimates the individual risk of keys, or of records by their codes. Nothing is kept.

        Args:
            keys: `frequencies` and `weight_sums`, one a key; or `columns`, such as
                `[{"codes": [0, 1, -1]}, ...]`, with `weights`, one a record, and `missing`, `"CATEGORY"` or
                `"WILDCARD"`. `quality`, `coverage`, `attempt`: the factors d, e, t. `approximations`: such
                as `["SDCMICRO"]`.

        Returns:
            `{"risks": [...], "file": {...}, "approximations": [...], ...}`.
        """
        return object_of(self._call("POST", "/v1/risk:estimateIndividualRisk", keys))

    def map_confidentiality(
        self,
        noise: Sequence[float] = (),
        recodings: Iterable[Sequence[float]] = (),
        *,
        mean: float = 0.0,
        standard_deviation: float = 1.0,
    ) -> dict[str, Any]:
        """Compares noise with recoding of a normal variable: the theoretical R-U confidentiality map.

        Args:
            noise: Standard deviations of noise, in the variable's unit.
            recodings: Cut-offs of each recoding, such as `[[0.0], [-1.0, 1.0]]`. Where neither is given:
                noise of 20 sizes, and recodings into 2 to 10 equally likely classes.
            mean: Of the variable.
            standard_deviation: Of the variable.

        Returns:
            `{"noise": [{"noise": ..., "risk": ..., "utility": ...}], "recodings": [...]}`.
        """
        body = {
            "mean": mean,
            "standard_deviation": standard_deviation,
            "noise": list(noise),
            "recodings": [{"cut_offs": list(one)} for one in recodings],
        }
        return object_of(self._call("POST", "/v1/risk:mapConfidentiality", body))

    def assess_microdata(
        self,
        data: "bytes | pandas.DataFrame | pyarrow.Table",
        keys: str | Sequence[str],
        *,
        other: "bytes | pandas.DataFrame | pyarrow.Table | None" = None,
        other_keys: str | Sequence[str] = (),
        other_name: str = "",
        **options: Any,
    ) -> dict[str, Any]:
        """Assesses the disclosure risk of a file by every measure that applies. Nothing of it is kept.

        Only the columns that are named are sent.

        Args:
            data: The file; bytes are an Arrow IPC stream.
            keys: Columns of the key variables, such as `["sex", "age", "region"]`.
            other: Another release of the same source, to be linked with the file through columns of the
                same names; name the `unit` of both, or nothing tells who is who.
            other_keys: Its key variables, where they are others. Without `other` it is this file with them.
            other_name: What the report calls it.
            options: `weight`, `unit`, `wave`, `household`, `stratum`, `psu`: columns; `fraction` or
                `population` without weights; `missing`, `missing_texts`, `risk_threshold`, `target_rate`,
                `minimum`, `dimensions`, or `minimums` by size such as `[100, 10, 3]`, `suda_size`, `quality`,
                `coverage`, `attempt`;
                `classes`, such as `[{"key": "region", "identifying": "EXTREMELY"}]`, with `class_minimums`,
                such as `[{"classes": ["EXTREMELY", "YES"], "minimum": 100}]`;
                `ordinal`, the key variables that are ordered; `models`, log-linear models beside the usual
                ones, by their interactions such as `["age*sex,region*sex"]`;
                `scenarios`, such as `[{"name": "roll", "kind": "INDIVIDUAL_ARCHIVE", "keys": ["sex",
                "age"]}]`, as in `GET /openapi.json`; `numbers`, such as `[{"column": "sales", "relative":
                0.1}, {"column": "staff", "width": 5}]`, with `neighbours`.

        Returns:
            The report: `file`, `key_cells`, `individual`, `uniqueness`, `log_linear`, `smoothed`,
            `numbers`, `households`, `threshold_rule`, `special_uniques`, `scenarios`, `worst_tables`,
            `weights`, `strata`, `psu_labels`, `psus`, `linked_releases`; `not_computed` tells why not.

        Raises:
            ValueError: a column is not there.
        """
        of_other = items(other_keys)
        if options.get("models"):
            options = {**options, "models": [model_of(one) for one in items(options["models"])]}
        content = arrow_stream(data, [*items(keys), *(of_other if other is None else ())], options)
        if other is not None or of_other:
            asked = {**options, "other": {"name": other_name, "keys": list(of_other)}}
            second = {} if other is None else {"other": release_stream(other, of_other or keys, options)}
            how: dict[str, Any] = {"form": file_form(keys, asked, arrow=content, **second)}
        elif any(options.get(name) for name in ("scenarios", "numbers", "models", "classes")):
            how = {"form": file_form(keys, options, arrow=content)}
        else:
            how = {"parameters": file_options(keys, options), "content": content}
        return object_of(json_of(self._send("POST", "/v1/risk:assessMicrodata", **how)))

    def compare_recodings(
        self,
        data: "bytes | pandas.DataFrame | pyarrow.Table",
        keys: "Mapping[str, Levels] | Sequence[str]",
        **options: Any,
    ) -> dict[str, Any]:
        """Compares recodings of a file by risk and loss of information. Nothing of it is kept.

        Args:
            data: The file; bytes are an Arrow IPC stream. Only the columns that are named are sent.
            keys: Columns of the key variables, each with its coarser levels from fine to coarse, such as
                `{"age": {"ten_years": 10}, "area": {"part": {"n1": "north", "s1": "south"}}, "sex": {}}`:
                a width of bands, or the parent of each code. See `descriptor_levels`.
            options: `weight`, `unit`, `wave`, `interest`: columns; `fraction` or `population` without
                weights; `maximum_share`, `maximum_recodings`, `table_dimensions`, `missing_texts`;
                `access_levels`, the widest first, such as `{"public": 0.0001, "remote": 0.01}`.

        Returns:
            `{"recodings": [...], "best": {...}, "variables": [...], "possible": ..., "evaluated": ...}`.

        Raises:
            ValueError: a column is not there, or a level is none.
        """
        content = columns_stream(data, recoding_columns(keys, options))
        parts = form(recoding_options(keys, options), arrow=content)
        return object_of(json_of(self._send("POST", "/v1/risk:compareRecodings", form=parts)))

    def link_records(
        self,
        original: "bytes | pandas.DataFrame | pyarrow.Table",
        released: "bytes | pandas.DataFrame | pyarrow.Table",
        variables: "Mapping[str, str | Mapping[str, Any]]",
        method: str = "DISTANCE",
        **options: Any,
    ) -> dict[str, Any]:
        """Links the records of a released file to those of the original. Nothing of them is kept.

        Args:
            original: The file as it was, or the population; bytes are an Arrow IPC stream.
            released: The file as it would leave. Only the columns that are named are sent of both.
            variables: What is compared, such as `{"income": "NUMERIC", "area": {"kind": "NOMINAL",
                "weight": 0.5}}`; `released_column` where it has another name there, `order` of an ORDINAL.
            method: `DISTANCE`, `PROBABILISTIC`, `INTERVAL`, `POPULATION_COUNTS`, `MEASUREMENT_ERROR` or
                `AREAS`.
            options: `id`, the column that says who is who, or `same_order=True`; `blocks`, `missing_texts`,
                `summary_only`, and those of the method, as in `GET /openapi.json`.

        Returns:
            Numbers of records, and `distance`, `probabilistic`, `intervals`, `population`,
            `measurement_error` or `areas`.

        Raises:
            ValueError: a column is not there.
        """
        asked = linkage_options(variables, method, options)
        of_original, of_released = linkage_columns(asked)
        parts = form(
            asked,
            original=columns_stream(original, of_original),
            released=columns_stream(released, of_released),
        )
        return object_of(json_of(self._send("POST", "/v1/risk:linkRecords", form=parts)))

    def protect_table(
        self,
        table: Mapping[str, Any],
        unsafe: Iterable[int],
        *,
        method: Mapping[str, Mapping[str, Any]] | None = None,
        time_limit_ms: int = 10_000,
        thorough: bool = False,
        exact: bool = False,
        intervals: bool = False,
        effort_ms: int | None = None,
        singletons: bool = False,
        linked: Iterable[Mapping[str, Any]] = (),
        **how: Any,
    ) -> dict[str, Any]:
        """Finds cells to withhold, or values that hide the unsafe ones. No verdict; nothing is kept.

        Args:
            table: Dimensions and facts; see `own_table`.
            unsafe: Positions of the cells that must be withheld, or hidden.
            method: Withholding if none is given. `{"rounding": {"kind": "CONTROLLED", "base": 5}}`; kinds are
                also `NEAREST`, `RANDOM`, `SMALL_COUNTS`, `INTERVALS`. Or noise by cell keys: `{"cell_keys":
                {"keys": keys, "noise": {"maximum_noise": 5, "variance": 3}}}`, one 64-bit key a cell. Or
                controlled tabular adjustment: `{"adjustment": {"weighting": "UNIT", "minimum": 3}}`;
                weightings are also `RELATIVE`, `ROOT`, and there are more demands, as `margin_share`.
            time_limit_ms: Milliseconds to spend at most.
            thorough: Spend all of them on withholding less, if it takes that long.
            exact: Find the cheapest cells to withhold; if the time does not suffice, the answer's `gap` says
                by which share they may be too dear.
            intervals: Tell between what each withheld fact can be known to lie.
            effort_ms: Effort for withholding less once a pattern is proved: about milliseconds, counted so
                that every machine finds the same; by the table's size if none is given.
            singletons: Protect from respondents, too, who are alone in a withheld cell and know what is in
                it.
            linked: Further tables that are protected together with this one, such as `[{"table": other,
                "unsafe": [4]}]`. Cells with the same codes are withheld in all tables or in none.
            how: Requirements, such as `count_width=3`, `sum_width=0.1`; see `own_problem`.

        Returns:
            `{"withheld": [...], "proof": "PROVED", "witnesses": {...}, "unchecked": [...], ...}`, with
            `"price"`, `"lower_bound"`, `"gap"`, `"optimal"`, `"intervals"` where asked, and for each linked
            table `"linked": [{"withheld": [...], ...}]`; by a method
            `"perturbed"` has `{"facts": [{"fact": "units", "values": [...], "utility": {...}}], ...}`.
        """
        body = {"problem": own_problem(table, **how), "unsafe": list(unsafe), "time_limit_ms": time_limit_ms}
        flags = {"thorough": thorough, "exact": exact, "intervals": intervals, "singletons": singletons}
        if effort_ms is not None:
            body["effort_ms"] = effort_ms
        if others := own_linked(linked, "unsafe", **how):
            body["linked"] = others
        body |= own_method(method or {}) | {name: True for name, asked in flags.items() if asked}
        return object_of(self._call("POST", "/v1/protection:protectTable", body))

    def audit_table(
        self,
        table: Mapping[str, Any],
        withheld: Iterable[int],
        *,
        time_limit_ms: int = 10_000,
        intervals: bool = False,
        integral: bool = False,
        singletons: bool = False,
        linked: Iterable[Mapping[str, Any]] = (),
        **how: Any,
    ) -> dict[str, Any]:
        """Audits a pattern of withheld cells as an intruder would. No verdict; nothing is kept.

        Args:
            table: Dimensions and facts; see `own_table`.
            withheld: Positions of the withheld cells.
            time_limit_ms: Milliseconds to spend.
            intervals: Tell between what each withheld fact can be known to lie.
            integral: Tell it of whole counts, as far as there is time: `exact` says of which intervals it is.
            singletons: Audit as respondents, too, who are alone in a withheld cell and know what is in it.
            linked: Further tables that left or shall leave beside this one, such as `[{"table": other,
                "withheld": [4]}]`.
            how: Requirements, and what was published beside the table; see `own_problem`.

        Returns:
            `{"proof": "REFUTED", "unprotected": [...], "leaks": [...], "unchecked": [...], ...}`.
        """
        body = {
            "problem": own_problem(table, **how),
            "withheld": list(withheld),
            "time_limit_ms": time_limit_ms,
        }
        flags = {"intervals": intervals or integral, "integral": integral, "singletons": singletons}
        body |= {name: True for name, asked in flags.items() if asked}
        if others := own_linked(linked, "withheld", **how):
            body["linked"] = others
        return object_of(self._call("POST", "/v1/protection:auditTable", body))

    def redesign_table(
        self,
        table: Mapping[str, Any],
        rules: Mapping[str, Any],
        *,
        mergeable: Iterable[str] = (),
        kept: Iterable[str] = (),
        designs: int = 3,
        time_limit_ms: int = 10_000,
    ) -> dict[str, Any]:
        """Searches the coarser tables that pass the rules and lose least. No verdict; nothing is kept.

        Args:
            table: Dimensions and facts; see `own_table`. Levels are the parents of its codes.
            rules: As for `assess_table`.
            mergeable: Variables of which adjacent categories of one parent may be joined.
            kept: Variables that must stay.
            designs: How many to look for.
            time_limit_ms: Milliseconds to spend.

        Returns:
            `{"designs": [{"dimensions": [{"variable": ..., "categories": [{"code": ..., "codes": [...]}]}],
            "dropped": [...], "loss": ..., ...}], "finished": True, "unchecked": [...], ...}`.
        """
        body = {
            **table,
            "rules": dict(rules),
            "mergeable": items(mergeable),
            "kept": items(kept),
            "designs": designs,
            "time_limit_ms": time_limit_ms,
        }
        return object_of(self._call("POST", "/v1/protection:redesignTable", body))
