"""The risk service: judges cells by rules, assesses files. Stateless; gives findings, never a verdict."""

from collections.abc import Iterator

import grpc
import numpy as np

from sdcgate.methods.cells import Axis, Facts
from sdcgate.methods.outputs.model_checks import assess_model, unjudged
from sdcgate.methods.outputs.statistic_assessment import assess_statistic
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import Consequence, IndividualRisk, MinimumUnits, Rules
from sdcgate.methods.tables.assessment import Key, assess_table
from sdcgate.servers.authentication import service_token
from sdcgate.servers.callers import check_side, most_cells
from sdcgate.servers.errors import InvalidArgument
from sdcgate.servers.lifecycle import serve
from sdcgate.servers.linked_records import RecordLinker
from sdcgate.servers.microdata import FileAssessor
from sdcgate.servers.received_files import FileLane, heeding
from sdcgate.servers.recodings import RecodingComparer
from sdcgate.servers.settings import RiskServer, Settings
from sdcgate.wire import model_facts, printed_models, printed_statistics, statistic_facts
from sdcgate.wire.dimensions import MAXIMUM_CELLS
from sdcgate.wire.risk import assessment_to_message, table_to_assess
from sdcgate.wire.tables import facts_problems
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.risk.v1 import (
    confidentiality_map_pb2,
    linkage_pb2,
    microdata_pb2,
    models_pb2,
    recodings_pb2,
    risk_pb2,
    risk_pb2_grpc,
    statistics_pb2,
)

SERVICE = "sdcgate.risk.v1.RiskService"


class RiskServicer(risk_pb2_grpc.RiskServiceServicer):
    """RiskService over sdcgate.methods."""

    def __init__(self, maximum_check_cells: int = MAXIMUM_CELLS, files: FileLane | None = None) -> None:
        section = RiskServer()
        self._maximum_check_cells = maximum_check_cells
        lane = files or FileLane(section.maximum_file_bytes, section.files_at_once)
        self._files = FileAssessor(lane)
        self._recodings = RecodingComparer(lane)
        self._linkage = RecordLinker(lane)

    def AssessTable(
        self,
        request: risk_pb2.AssessTableRequest,
        context: grpc.ServicerContext,
    ) -> risk_pb2.AssessTableResponse:
        """Judge the cells of a table by the rules given."""
        table = table_to_assess(request, most_cells(self._maximum_check_cells))
        try:
            assessment = assess_table(table.axes, table.facts, table.rules, table.base_units, table.key)
        except FactsError as error:
            raise InvalidArgument(facts_problems(error, request.facts, table.order)) from None
        return assessment_to_message(assessment, table.order)

    def AssessModel(
        self,
        request: models_pb2.AssessModelRequest,
        context: grpc.ServicerContext,
    ) -> models_pb2.AssessModelResponse:
        """Judge a fitted model by facts about it."""
        if problems := violations(request):
            raise InvalidArgument(problems)
        rules = model_facts.rules_from_message(request.rules)
        facts = model_facts.facts_from_message(request.facts)
        response = model_facts.findings_to_message(assess_model(facts, rules), *unjudged(facts, rules))
        printed = printed_models.printed_problems(request, facts, rules)
        return printed_models.add_printed(response, request, printed)

    def AssessStatistic(
        self,
        request: statistics_pb2.AssessStatisticRequest,
        context: grpc.ServicerContext,
    ) -> statistics_pb2.AssessStatisticResponse:
        """Judge a statistic of groups by facts about it."""
        asked = statistic_facts.statistic_to_assess(request)
        try:
            found = assess_statistic(asked.statistic, asked.facts, asked.rules, asked.errors)
        except FactsError as error:
            raise InvalidArgument(statistic_facts.unfit(error)) from None
        printed = printed_statistics.printed_problems(request, asked, found)
        return printed_statistics.add_printed(statistic_facts.assessed_to_message(found), request, printed)

    def EstimateIndividualRisk(
        self,
        request: microdata_pb2.EstimateIndividualRiskRequest,
        context: grpc.ServicerContext,
    ) -> microdata_pb2.EstimateIndividualRiskResponse:
        """Estimate the individual risk of every key or record."""
        from sdcgate.wire.individual_risk import estimates_to_message, keys_to_estimate

        return estimates_to_message(keys_to_estimate(request), request)

    def MapConfidentiality(
        self,
        request: confidentiality_map_pb2.MapConfidentialityRequest,
        context: grpc.ServicerContext,
    ) -> confidentiality_map_pb2.MapConfidentialityResponse:
        """Compare noise with recoding of a normal variable."""
        from sdcgate.wire.confidentiality_map import mapped

        return mapped(request)

    def AssessMicrodata(
        self,
        request_iterator: Iterator[microdata_pb2.AssessMicrodataRequest],
        context: grpc.ServicerContext,
    ) -> microdata_pb2.AssessMicrodataResponse:
        """Assess a file by every measure that applies."""
        return self._files.assess(request_iterator, heeding(context))

    def CompareRecodings(
        self,
        request_iterator: Iterator[recodings_pb2.CompareRecodingsRequest],
        context: grpc.ServicerContext,
    ) -> recodings_pb2.CompareRecodingsResponse:
        """Compare recodings of a file's key variables."""
        return self._recodings.compare(request_iterator, heeding(context))

    def LinkRecords(
        self,
        request_iterator: Iterator[linkage_pb2.LinkRecordsRequest],
        context: grpc.ServicerContext,
    ) -> linkage_pb2.LinkRecordsResponse:
        """Link the records of two files."""
        return self._linkage.link(request_iterator, heeding(context))


def warm_up() -> None:
    """Judge a small table, so that what is made on first use is there."""
    ones = np.ones(2, dtype=np.int64)
    axes = (Axis("a", "a", ("1", "2"), (-1, -1), identifying=True),)
    rules = Rules(
        minimum_units=MinimumUnits(3, Consequence.PROTECT),
        individual_risk=IndividualRisk(0.1, True, Consequence.REFUSE),
    )
    frequencies = np.array([1, 3])
    key = Key(frequencies, np.array([10.0, 30.0]))
    assess_table(axes, Facts(units=ones, records=ones), rules, 4, key)


def main(settings: Settings | None = None) -> None:
    """Serve until told to stop."""
    settings = settings or Settings()
    token = service_token(settings.service_token_path)
    authenticate, check = check_side(settings, settings.risk, token)
    files = FileLane(settings.risk.maximum_file_bytes, settings.risk.files_at_once)
    servicer = RiskServicer(settings.risk.maximum_check_cells, files)
    serve(
        "risk",
        lambda server: risk_pb2_grpc.add_RiskServiceServicer_to_server(servicer, server),
        [SERVICE],
        settings,
        authenticate,
        warm_up,
        check=check,
    )
