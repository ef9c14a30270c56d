"""A state folder as a facility leaves it, and the command line on its machine."""

from pathlib import Path

import yaml
from typer.testing import CliRunner, Result

from house import RANDHIE, House
from sdcgate.cli import main
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.engine import Engine
from sdcgate.facility.facility import Facility
from sdcgate.facility.in_process import LocalProtection, LocalRisk
from sdcgate.facility.pace import Pace
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies, load_policy
from sdcgate.servers.facility import open_ledger, secret
from sdcgate.servers.settings import Settings
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

TEXT = (BUNDLED / "israel-cbs.yaml").read_text()


class Installation:
    """A state folder as a facility leaves it, with queries and a review in its ledger."""

    def __init__(self, folder: Path, *changes: tuple[str, str]) -> None:
        """Its policy is the bundled one with these texts in place of others."""
        self.folder = folder
        self.settings = Settings(state_dir=folder / "state", data_root=folder, ledger_url="")
        policies = load_policies()
        if changes:
            policies["israel-cbs"] = load_policy(Path(self.policy(*changes)))
        ledger, _ = open_ledger(self.settings)
        keys = self.settings.state_dir / "keys"
        engine = Engine(folder, self.settings.state_dir / "snapshots", secret(keys / "records.key"))
        facility = Facility(
            engine,
            ledger,
            LocalRisk(),
            LocalProtection(),
            policies,
            "israel-cbs",
            secret(keys / "boxes.key"),
        )
        self.house = House(facility, engine, ledger)
        self.descriptor = yaml.safe_load(RANDHIE.read_text())
        engine.register(parse_descriptor(self.descriptor))

    def review(self, query: str, approve: bool, exception: bool = False) -> pb.Decision:
        request = pb.ReviewQueryRequest(
            query=query, approve=approve, note="looked at it", exception=exception
        )
        return self.house.facility.review_query(self.house.checker, request, Pace(60.0))

    def run(self, *arguments: str, **environment: str) -> Result:
        """The command line on this machine."""
        where = {"SDCGATE_STATE_DIR": str(self.settings.state_dir), "SDCGATE_DATA_ROOT": str(self.folder)}
        return CliRunner().invoke(main, list(arguments), env={**where, **environment})

    def diff(self, *arguments: str) -> Result:
        """What another policy would change."""
        return self.run("policy", "diff", "israel-cbs", *arguments)

    def policy(self, *changes: tuple[str, str]) -> str:
        text = TEXT
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = self.folder / "new.yaml"
        path.write_text(text)
        return str(path)
