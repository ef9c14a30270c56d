"""Examples of the OpenAPI document: verdicts on what a job printed."""

from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


def judged(status: int, released: pb.Decision, referred: pb.Decision) -> pb.SubmitResultsResponse:
    """The verdicts on a folder: a table, and where something is referred a chart."""
    table = pb.JudgedResult(
        name="output_0",
        read_as=pb.RESULT_KIND_TABLE,
        files=["output_0_0.csv"],
        decision=released,
        repeated_answer=status == 200,
    )
    chart = pb.JudgedResult(
        name="chart.png",
        read_as=pb.RESULT_KIND_FILE,
        files=["chart.png"],
        problems=["Files of the kind .png are not read."],
        decision=referred,
    )
    outputs = [table, chart] if status == 202 else [table]
    return pb.SubmitResultsResponse(outputs=outputs, not_outputs=["results.json"])
