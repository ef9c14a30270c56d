"""The reference of the command line, from the commands themselves."""

import re

import typer
from typer.cli import get_docs_for_click

from generators.markdown import joined
from sdcgate.cli import main


def commands_page() -> str:
    """The page."""
    command = typer.main.get_command(main)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="sdcgate", title="Commands")
    text = text.replace("&#x27;", "'").replace("&quot;", '"').replace("```console", "```text")
    # `--help` is everywhere; a heading is better a name than code in the table of contents.
    text = text.replace("* `--help`: Show this message and exit.\n", "").replace("**Options**:\n\n\n", "")
    text = re.sub(r"\*\*Options\*\*:\n\n(?=\n|#|\*\*|\Z)", "", text)
    head, _, rest = text.partition("\n")
    return joined(
        head,
        "Every command of `sdcgate` also has `--help`. Which of them ask the gateway and which work on the "
        "state folder, beside the facility, is told in [Operations](../operations.md).",
        re.sub(r"\n{3,}", "\n\n", rest).strip(),
    )
