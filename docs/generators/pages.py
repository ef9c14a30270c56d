"""All pages of the reference, by file name."""

from generators.commands import commands_page
from generators.descriptor import descriptor_page
from generators.grpc_calls import grpc_pages
from generators.metrics import metrics_page
from generators.modules import modules_page
from generators.policy import policy_examples_page, policy_page
from generators.python_client import python_client_page
from generators.rest import rest_page
from generators.settings import settings_page

NOTICE = "<!-- Made by `make reference` from {source}; change that, not this page. -->\n\n"


def pages() -> dict[str, str]:
    """Markdown of every page, without what `make docs` adds."""
    made = {
        "rest.md": ("the routes of the gateway and the protos' comments", rest_page()),
        "descriptor.md": ("proto/sdcgate/facility/v1/descriptor.proto", descriptor_page()),
        "policy.md": ("services/sdcgate/policy/model.py", policy_page()),
        "policy-examples.md": ("services/sdcgate/policy/examples.py", policy_examples_page()),
        "settings.md": ("services/sdcgate/servers/settings.py", settings_page()),
        "metrics.md": ("services/sdcgate/servers/metrics.py", metrics_page()),
        "commands.md": ("services/sdcgate/cli", commands_page()),
        "python-client.md": ("clients/python/sdcgate_client", python_client_page()),
        "modules.md": ("the modules' docstrings", modules_page()),
        **{name: ("the protos' comments", text) for name, text in grpc_pages().items()},
    }
    return {name: NOTICE.format(source=source) + text.strip() + "\n" for name, (source, text) in made.items()}
