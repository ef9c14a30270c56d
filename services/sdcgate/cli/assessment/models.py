"""A hierarchical log-linear model as it is written on the command line: `age*sex,region*sex`."""


def interactions_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The interactions of a model, each by the names of its key variables; main effects are always in.

    Raises ValueError where a name is empty or stands twice in an interaction, and where there is none.
    """
    found = []
    for part in text.split(","):
        names = tuple(name.strip() for name in part.split("*"))
        if not all(names) or len(set(names)) < len(names):
            raise ValueError(f"--model {text}: write interactions of key variables, age*sex,region*sex")
        if len(names) > 1:
            found.append(names)
    if not found:
        raise ValueError(f"--model {text}: has no interaction, and main effects alone are fitted anyway")
    return tuple(found)
