"""`sdcgate ledger`: verify the ledger, verify a certificate."""

import typer

app = typer.Typer(help="The ledger: verify it, verify a certificate offline.", no_args_is_help=True)


@app.callback()
def _ledger() -> None: ...
