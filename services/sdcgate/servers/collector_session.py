"""The HTTP session in which spans leave: a named authority is believed, and none else."""

from typing import Any

import requests


class CollectorSession(requests.Session):
    """In those of requests `REQUESTS_CA_BUNDLE` of the environment replaces an authority that is named."""

    def merge_environment_settings(
        self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any
    ) -> dict[str, Any]:
        """What holds for one request; only where no authority is named the environment is asked."""
        wanted = self.verify if verify is None else verify
        return super().merge_environment_settings(url, proxies, stream, wanted, cert)
