"""Python client of sdcgate: ask for tables over REST and get what may leave, with reasons and certificate."""

from sdcgate_client.acro import write_acro
from sdcgate_client.answer import Answer, Comment, Dimension, Figure, Reason, Table
from sdcgate_client.checks import own_fact, own_levels, own_problem, own_ratios, own_table
from sdcgate_client.client import Client
from sdcgate_client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    SdcgateError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
)
from sdcgate_client.outputs import output_request
from sdcgate_client.pictures import Picture
from sdcgate_client.printing import format_answer, format_table
from sdcgate_client.recodings import descriptor_levels
from sdcgate_client.results import JudgedResult, Results

__all__ = [
    "Answer",
    "ApiError",
    "Client",
    "Comment",
    "Conflict",
    "Dimension",
    "Figure",
    "Forbidden",
    "InvalidRequest",
    "JudgedResult",
    "NotFound",
    "Picture",
    "Reason",
    "Results",
    "SdcgateError",
    "Table",
    "TooLarge",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
    "Unreachable",
    "descriptor_levels",
    "format_answer",
    "format_table",
    "output_request",
    "own_fact",
    "own_levels",
    "own_problem",
    "own_ratios",
    "own_table",
    "write_acro",
]
