"""What the last runs of the attacks have found, and how the page about them shows it."""

import json
import re
from pathlib import Path
from typing import Any

from attack.suite import ATTACKS

FILE = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs/attacks.md"
NOT_RUN = "not run"
SAID = {True: "learns", False: "-"}


def stored() -> dict[str, Any]:
    """What was found."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def store(found: dict[str, Any]) -> None:
    """Takes in a run, of some attacks or of all; what it has not tried stays as it was found before."""
    before = stored() if FILE.exists() else {"attacks": []}
    rows = {row["attack"]: row for row in before["attacks"]}
    for row in found["attacks"]:
        known = rows.get(row["attack"], row)
        rows[row["attack"]] = row | ({"acro": known["acro"]} if row["acro"] == NOT_RUN else {})
    kept = [rows[attack.name] for attack in ATTACKS if attack.name in rows]
    whole = {**before, **found, "attacks": kept}
    if "waiting_times" in found:
        whole["waiting_times"] = before.get("waiting_times", {}) | found["waiting_times"]
    FILE.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    page = re.sub(
        r"\| attack \| requests \|.*?\n(?=\n)",
        lambda _: page_table(kept) + "\n",
        PAGE.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    PAGE.write_text(page, encoding="utf-8")


def left(row: dict[str, Any]) -> str:
    """How wide the claim is that the intruder was left with at sdcgate."""
    if row["left"] is None:
        return "all"
    if row["exception"]:
        return f"{_number(row['left'])} (by design)"
    return _number(row["left"]) + ("" if row["right"] else " (wrong)")


def required(row: dict[str, Any]) -> str:
    """How wide the policy demands it to be."""
    return "" if row["required"] is None else _number(row["required"])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def page_row(row: dict[str, Any]) -> str:
    """A row of the table in docs/attacks.md."""
    said = NOT_RUN if row["acro"] == NOT_RUN else SAID.get(row["acro"], "not applicable")
    ours = SAID[row["sdcgate"]] + (", open" if row["open"] else "")
    if row.get("closed_by"):
        ours += f"; {SAID[row['when_closed']]} with `{row['closed_by']}`"
    return f"| {row['attack']} | {row['requests']} | {said} | {ours} | {left(row)} | {required(row)} |"


def page_table(rows: list[dict[str, Any]]) -> str:
    """The table in docs/attacks.md."""
    return "\n".join(
        [
            "| attack | requests | ACRO | sdcgate | width left | required |",
            "| --- | --- | --- | --- | --- | --- |",
            *map(page_row, rows),
        ]
    )
