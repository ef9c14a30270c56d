"""A ledger as an earlier sdcgate left it: real events, in a database at an earlier migration."""

from dataclasses import replace
from pathlib import Path

import sqlalchemy
from alembic import command
from alembic.config import Config

from sdcgate.cli.ledger_place import opened
from sdcgate.ledger import database
from sdcgate.ledger.events import BoxRow, DecisionEvent, draft_decision
from sdcgate.servers.settings import Settings

FIRST = "0001"
EVENTS = 120


def write_new_ledger(state: Path) -> None:
    """Events in a state folder, of kinds that the first migration knows; the database is at the newest."""
    with opened(Settings(state_dir=state, data_root=state)) as ledger:
        for number in range(EVENTS):
            draft = draft_decision(decision(number), 0)
            # Decisions of then did not say what they cost.
            fields = {name: value for name, value in draft.fields.items() if name != "cells"}
            ledger.append(replace(draft, fields=fields), lambda _: None)


def decision(number: int) -> DecisionEvent:
    """A decision about a source of its own."""
    return DecisionEvent(
        query_id=f"q-{number:04}",
        source=f"households-{number}",
        dataset="survey",
        version=1,
        canonical=b"table %d" % number,
        policy_name="israel-cbs",
        policy_hash="sha256:12",
        scope="all-researchers",
        researcher="anna",
        project="demo",
        verdict="RELEASED",
        request=b"the request",
        answer=b"the answer %d" % number,
        confidential=b"what the checker sees",
        release=b"what left %d" % number,
        # A slow machine makes more of them than there are states.
        boxes=(BoxRow(b"box a", number % 256), BoxRow(b"box b", number % 256)),
        author="key of anna",
    )


def copy_as_old(state: Path, url: str, migration: str = FIRST) -> None:
    """The events of a state folder's own database in an empty one, at an earlier migration."""
    source = database.connect(f"sqlite:///{state / 'ledger.sqlite'}")
    target = database.connect(url)
    configuration = Config()
    configuration.set_main_option("script_location", database.SCRIPTS)
    with database.writing(target) as connection:
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, migration)
    old = sqlalchemy.MetaData()
    old.reflect(target)
    with source.connect() as given, database.writing(target) as taken:
        for table in old.sorted_tables:
            if table.name != "alembic_version":
                names = [sqlalchemy.column(column.name) for column in table.columns]
                rows = given.execute(sqlalchemy.select(*names).select_from(sqlalchemy.table(table.name)))
                found = [dict(row) for row in rows.mappings()]
                if found:
                    taken.execute(table.insert(), found)
    source.dispose()
    target.dispose()
