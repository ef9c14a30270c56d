"""The content of answers, where it is what it must be."""

from typing import Any

import httpx

from sdcgate_client.errors import UnexpectedAnswer


def json_of(response: httpx.Response) -> Any:
    """The content of an answer that is one.

    Raises:
        UnexpectedAnswer: a redirection, or no JSON.
    """
    if not response.is_success:
        raise UnexpectedAnswer(f"{response.url} answered {response.status_code}")
    try:
        return response.json()
    except ValueError as error:
        raise UnexpectedAnswer(f"{response.url} answered {response.status_code} without JSON") from error


def object_of(content: Any) -> dict[str, Any]:
    """The content as an object. Raises UnexpectedAnswer where it is none."""
    if not isinstance(content, dict):
        raise UnexpectedAnswer("the answer is not a JSON object")
    return content
