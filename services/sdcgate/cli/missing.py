"""Commands that tell all that is missing at once, in place of the first thing alone."""

from typing import Any

import typer
from typer.core import TyperCommand


class CommandTellingAll(TyperCommand):
    """A command whose error names every argument and option that must be given and is not."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as typer does; what is missing is told together."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            missing = self._missing(ctx, given) if type(error).__name__ == "MissingParameter" else []
            if len(missing) < 2:
                raise
            # Some versions of typer bring a click of their own: the class is that of the error itself.
            told: Any = type(error)
            raise told(ctx=ctx, param_type=", ".join(missing), param_hint="") from None

    def _missing(self, ctx: Any, args: list[str]) -> list[str]:
        """What is missing, each with its kind, such as `option '--note'`."""
        found: list[str] = []
        options: dict[str, Any] = self.make_parser(ctx).parse_args(args=args)[0]
        for parameter in self.get_params(ctx):
            value = parameter.consume_value(ctx, options)[0] if parameter.required else ()
            if value is None or (parameter.required and value == ()):
                found.append(f"{parameter.param_type_name} '{max(parameter.opts, key=len)}'")
        return found
