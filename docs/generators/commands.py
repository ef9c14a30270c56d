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
    # `--help` is everywhere; the page says so once.
    text = text.replace("* `--help`: Show this message and exit.\n", "").replace("**Options**:\n\n\n", "")
    # Each command has a heading below; typer cuts the sentences of these lists short.
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text)
    text = re.sub(r"\*\*Options\*\*:\n\n(?=\n|#|\*\*|\Z)", "", text)
    head, _, rest = text.partition("\n")
    return joined(
        head,
        "Every command of `sdcgate` also has `--help`. `dataset`, `query` and `review` ask the gateway "
        "(`SDCGATE_URL`, `SDCGATE_API_KEY`). The others work on the facility's machine: `serve` starts the "
        "services, `key` and `ledger` open the state folder beside them, `policy` reads policy files.",
        re.sub(r"\n{3,}", "\n\n", rest).strip(),
    )
