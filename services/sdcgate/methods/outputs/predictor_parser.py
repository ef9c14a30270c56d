"""Names, transformations and factors within a formula.

predictor = name | transformation "(" name ")" | "C(" name {"," option} ")"
option    = [("reference" | "level" | "event") "="] string | "Treatment(" [reference "="] string ")"
name      = plain name | "Q(" string ")"
outcome   = predictor | "surv(" predictor "," predictor ")"
"""

from sdcgate.methods.outputs.formula import Classes, Factor, Numeric, Outcome, Predictor, Survival
from sdcgate.methods.outputs.formula_tokens import (
    FormulaProblem,
    Kind,
    SyntaxProblem,
    Token,
    TokenReader,
    shown,
)
from sdcgate.methods.outputs.transformations import SPLINE, TRANSFORMATIONS
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary, did_you_mean

FUNCTIONS = (*TRANSFORMATIONS, SPLINE, "numeric", "C", "Q")
OPTIONS = ("reference", "level", "event")


class PredictorParser(TokenReader):
    """Unknown names are collected, what cannot be read on from stops it."""

    def __init__(self, tokens: list[Token], vocabulary: Vocabulary, problems: list[FormulaProblem]) -> None:
        super().__init__(tokens, problems)
        self.vocabulary = vocabulary

    def look_at_the_rest(self) -> None:
        """Tell unknown names of what could not be read, too."""
        for position in range(self.position, len(self.tokens)):
            token, after = self.tokens[position], self.tokens[min(position + 1, len(self.tokens) - 1)]
            if token.kind is not Kind.NAME or after.text == "=" or token.text == "Treatment":
                continue
            if after.kind is Kind.OPERATOR and after.text == "(":
                if token.text not in (*FUNCTIONS, "surv"):
                    self.wrong(token, _unknown_function(token))
            elif token.text not in self.vocabulary.names:
                self.wrong(token, self._unknown_name(token))

    def predictor(self) -> Predictor | None:
        """A predictor; None where its name is unknown, which is told."""
        if self.here.kind is not Kind.NAME:
            raise SyntaxProblem(
                self.here.position, f"a variable or measure is expected, not {shown(self.here)}"
            )
        function = self.tokens[self.position + 1]
        if not (function.kind is Kind.OPERATOR and function.text == "(") or self.here.text == "Q":
            return self._bare(*self._name())
        if self.here.text == "C":
            found = self._factor()
            if found is None:
                return None
            if not found.event:
                return found.factor
            raise SyntaxProblem(self.here.position, "an event belongs to the outcome only")
        return self._transformed()

    def outcome(self) -> Outcome | None:
        """What stands before `~`."""
        if self.here.kind is Kind.NAME and self.tokens[self.position + 1].text == "(":
            if self.here.text == "surv":
                return self._survival()
            if self.here.text == "C":
                return self._factor()
        found = self.predictor()
        if isinstance(found, Factor):
            return Classes(found)
        if found is not None and found.transformation == SPLINE:
            raise SyntaxProblem(0, "an outcome cannot be a spline")
        return found

    def _survival(self) -> Survival | None:
        at = self.take()
        self.expect("(", "surv has a time and a status")
        time = self.predictor()
        self.expect(",", "surv has a time and a status")
        status_at = self.here
        status = self._factor() if self.here.text == "C" else self.predictor()
        self.expect(")", "a parenthesis is not closed")
        if time is None or status is None:
            return None
        if not isinstance(time, Numeric) or time.transformation:
            self.wrong(at, "the time of surv is a measure as it is")
            return None
        if not isinstance(status, Classes) or not status.event:
            self.wrong(status_at, 'write the status of surv with its event: C(status, event="...")')
            return None
        return Survival(time, status)

    def _name(self) -> tuple[Token, str]:
        token = self.take()
        if token.kind is Kind.NAME and token.text == "Q" and self.is_operator("("):
            self.take()
            inner = self.take()
            if inner.kind is not Kind.STRING:
                raise SyntaxProblem(inner.position, 'Q quotes a name: Q("net-income")')
            self.expect(")", "a parenthesis is not closed")
            return inner, inner.text
        if token.kind is not Kind.NAME:
            raise SyntaxProblem(token.position, f"a name is expected, not {shown(token)}")
        if self.is_operator("("):
            raise SyntaxProblem(token.position, f"{token.text} cannot be called here")
        return token, token.text

    def _bare(self, at: Token, name: str) -> Predictor | None:
        variable, measure = self.vocabulary.variable(name), self.vocabulary.measure(name)
        if self.vocabulary.ambiguous(name):
            self.wrong(at, f"{name} is a variable and a measure: write C({name}) or numeric({name})")
            return None
        if variable is not None:
            return _factor_of(variable, variable.levels[0], "", plain=True)
        if measure is not None:
            return Numeric(name)
        self.wrong(at, self._unknown_name(at))
        return None

    def _transformed(self) -> Predictor | None:
        function = self.take()
        self.take()
        known = function.text in (*TRANSFORMATIONS, SPLINE, "numeric")
        if not known:
            raise SyntaxProblem(function.position, _unknown_function(function))
        at, name = self._name()
        if not self.is_operator(")"):
            message = f"{function.text} takes the name of one measure and nothing else"
            raise SyntaxProblem(self.here.position, message)
        self.take()
        measure = self.vocabulary.measure(name)
        if measure is None:
            self.wrong(at, self._no_measure(at, name))
            return None
        ambiguous = self.vocabulary.variable(name) is not None
        if function.text == "numeric":
            return Numeric(name, "", ambiguous)
        if not _registered(measure, function.text):
            self.wrong(function, _not_registered(measure, function.text))
            return None
        return Numeric(name, function.text, ambiguous)

    def _factor(self) -> Classes | None:
        self.take()
        self.expect("(", "C names a variable")
        at, name = self._name()
        options = self._options()
        self.expect(")", "a parenthesis is not closed")
        variable = self.vocabulary.variable(name)
        if variable is None:
            self.wrong(at, self._no_variable(at, name))
            return None
        level = self._level_of(variable, options.get("level"))
        if level is None:
            return None
        for option in ("reference", "event"):
            token = options.get(option)
            if token is not None and token.text not in level.codes:
                near = did_you_mean(token.text, level.codes)
                self.wrong(token, f"{name} has no such code at level {level.name}{near}")
                return None
        plain = level is variable.levels[0] and not self.vocabulary.ambiguous(name)
        reference = options["reference"].text if "reference" in options else ""
        event = options["event"].text if "event" in options else ""
        if reference and event:
            self.wrong(options["reference"], "an event is compared with all others: leave the reference out")
        return Classes(_factor_of(variable, level, reference, plain), event)

    def _options(self) -> dict[str, Token]:
        options: dict[str, Token] = {}
        while self.is_operator(","):
            self.take()
            token = self.take()
            if token.kind is Kind.NAME and token.text == "Treatment" and self.is_operator("("):
                self.take()
                option, value = self._option(self.take())
                self.expect(")", "a parenthesis is not closed")
            else:
                option, value = self._option(token)
            if option in options:
                raise SyntaxProblem(token.position, f"{option} is given twice")
            options[option] = value
        return options

    def _option(self, token: Token) -> tuple[str, Token]:
        option = "reference"
        if token.kind is Kind.NAME and self.is_operator("="):
            if token.text not in OPTIONS:
                raise SyntaxProblem(token.position, f"C has the options {', '.join(OPTIONS)}")
            option = token.text
            self.take()
            token = self.take()
        if token.kind is not Kind.STRING:
            raise SyntaxProblem(token.position, f'write the {option} in quotes: {option}="..."')
        return option, token

    def _level_of(self, variable: Categorical, asked: Token | None) -> Level | None:
        if asked is None:
            return variable.levels[0]
        try:
            return variable.level(asked.text)
        except KeyError:
            near = did_you_mean(asked.text, [level.name for level in variable.levels])
            self.wrong(asked, f"{variable.name} has no such level{near}")
            return None

    def _unknown_name(self, at: Token) -> str:
        if variable := self._with_level(at):
            right = Factor(variable.name, at.text, plain=False).text
            return f"{shown(at)} is a level of {variable.name}: a formula has it as {right}"
        near = did_you_mean(at.text, self.vocabulary.names)
        return f"there is no variable or measure {shown(at)}{near}"

    def _with_level(self, at: Token) -> Categorical | None:
        """The variable before a colon that has a level of this name: tables are asked by `age:ten_years`."""
        place = self.tokens.index(at)
        before, colon = self.tokens[max(place - 2, 0)], self.tokens[max(place - 1, 0)]
        if colon.kind is not Kind.OPERATOR or colon.text != ":":
            return None
        variable = self.vocabulary.variable(before.text)
        return variable if variable and any(level.name == at.text for level in variable.levels) else None

    def _no_measure(self, at: Token, name: str) -> str:
        if self.vocabulary.variable(name) is not None:
            return f"{name} is a variable, not a measure: it has categories, not numbers"
        near = did_you_mean(name, [measure.name for measure in self.vocabulary.measures])
        return f"there is no measure {shown(at)}{near}"

    def _no_variable(self, at: Token, name: str) -> str:
        if self.vocabulary.measure(name) is not None:
            return f"{name} is a measure: only variables with declared codes can be factors"
        near = did_you_mean(name, [variable.name for variable in self.vocabulary.variables])
        return f"there is no variable {shown(at)}{near}"


def _factor_of(variable: Categorical, level: Level, reference: str, plain: bool) -> Factor:
    return Factor(variable.name, level.name, reference, plain)


def _registered(measure: Measured, function: str) -> bool:
    return measure.spline is not None if function == SPLINE else function in measure.transformations


def _not_registered(measure: Measured, function: str) -> str:
    offered = [*measure.transformations, *([SPLINE] if measure.spline is not None else [])]
    can = f"registered are {', '.join(offered)}" if offered else "none is registered"
    return f"{function} is not registered for {measure.name}; {can}"


def _unknown_function(token: Token) -> str:
    near = did_you_mean(token.text.rsplit(".", 1)[-1], FUNCTIONS)
    return f"there is no function {shown(token)} in formulas{near}"
