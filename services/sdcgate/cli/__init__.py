"""The command line: `sdcgate serve|dataset|query|review|key|admission|ledger|policy|check` and more.

The commands import what they need when they run, so that help comes at once.
"""

import typer

from sdcgate.cli import (
    admission,
    assess,
    check,
    confidentiality_map,
    dataset,
    demo,
    key,
    ledger,
    link,
    policy,
    protect,
    query,
    review,
    serve,
    swap,
)
from sdcgate.cli.missing import CommandTellingAll

main = typer.Typer(
    name="sdcgate",
    help="Output checking at the exit of a statistical agency's remote-access facility.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
main.command("serve")(serve.serve)
main.add_typer(dataset.app, name="dataset")
main.add_typer(query.app, name="query")
main.add_typer(review.app, name="review")
main.add_typer(key.app, name="key")
main.add_typer(admission.app, name="admission")
main.add_typer(ledger.app, name="ledger")
main.add_typer(policy.app, name="policy")
main.command("assess")(assess.assess)
main.command("check")(check.check)
main.command("protect")(protect.protect)
main.command("swap")(swap.swap)
main.command("link")(link.link)
main.command("map")(confidentiality_map.confidentiality_map)
main.command("demo")(demo.demo)

for app in (main, *(group.typer_instance for group in main.registered_groups)):
    for command in app.registered_commands if app is not None else ():
        command.cls = CommandTellingAll
