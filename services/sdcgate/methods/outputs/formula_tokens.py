"""The text of a formula as tokens, and what is wrong with it, told with positions in the text."""

import re
from dataclasses import dataclass
from enum import Enum, auto

LONGEST_FORMULA = 2000
MOST_PROBLEMS = 20
SHOWN = 40


@dataclass(frozen=True, slots=True)
class FormulaProblem:
    """What is wrong at a character of a formula, counted from 0."""

    position: int
    message: str


class FormulaError(ValueError):
    """A formula that is none; `problems` has all that is wrong, in the order of the text."""

    def __init__(self, problems: list[FormulaProblem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.position)[:MOST_PROBLEMS])
        super().__init__("; ".join(f"{found.position}: {found.message}" for found in self.problems))


class Kind(Enum):
    """What a token is."""

    NAME = auto()
    NUMBER = auto()
    STRING = auto()
    OPERATOR = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token, where it begins, and its text: of a string what stands between its quotes."""

    kind: Kind
    text: str
    position: int


_PATTERN = re.compile(
    r"(?P<SPACE>[ \t\r\n]+)"
    r"|(?P<NUMBER>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NAME>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)"
    r"|(?P<STRING>\"(?:[^\"\\]|\\[\"\\])*\"|'(?:[^'\\]|\\['\\])*')"
    r"|(?P<OPERATOR>\*\*|[~+\-:*/^(),=])"
)


class SyntaxProblem(Exception):
    """Where a formula cannot be read on."""

    def __init__(self, position: int, message: str) -> None:
        self.position, self.message = position, message
        super().__init__(message)


class TokenReader:
    """Tokens from the left, and the problems met so far."""

    def __init__(self, tokens: list[Token], problems: list[FormulaProblem]) -> None:
        self.tokens = tokens
        self.problems = problems
        self.position = 0

    @property
    def here(self) -> Token:
        """The token not yet taken."""
        return self.tokens[self.position]

    def take(self) -> Token:
        """The token here; the next one is here then, unless it is the end."""
        token = self.here
        if token.kind is not Kind.END:
            self.position += 1
        return token

    def is_operator(self, *texts: str) -> bool:
        """Whether one of these operators is here."""
        return self.here.kind is Kind.OPERATOR and self.here.text in texts

    def at_end(self) -> bool:
        """Whether all tokens are taken."""
        return self.here.kind is Kind.END

    def expect(self, text: str, otherwise: str) -> None:
        """Take an operator that has to be here; SyntaxProblem where it is not."""
        if not self.is_operator(text):
            raise SyntaxProblem(self.here.position, f"{otherwise}; found {shown(self.here)}")
        self.take()

    def wrong(self, at: Token, message: str) -> None:
        """Collect a problem after which reading goes on."""
        self.problems.append(FormulaProblem(at.position, message))


def tokenize(text: str) -> tuple[list[Token], list[FormulaProblem]]:
    """Tokens with an END after the last, and the characters that have no place in a formula."""
    if len(text) > LONGEST_FORMULA:
        message = f"a formula has at most {LONGEST_FORMULA} characters, this one {len(text)}"
        return [Token(Kind.END, "", 0)], [FormulaProblem(LONGEST_FORMULA, message)]
    tokens: list[Token] = []
    problems: list[FormulaProblem] = []
    position = 0
    while position < len(text):
        found = _PATTERN.match(text, position)
        if found is None:
            problems.append(FormulaProblem(position, _misplaced(text[position])))
            position += 1
            continue
        if found.lastgroup != "SPACE":
            tokens.append(_token(str(found.lastgroup), found.group(), position))
        position = found.end()
    return [*tokens, Token(Kind.END, "", len(text))], problems


def _token(group: str, text: str, position: int) -> Token:
    if group == "STRING":
        text = re.sub(r"\\(.)", r"\1", text[1:-1])
    return Token(Kind[group], text, position)


def _misplaced(character: str) -> str:
    if character in "\"'":
        return "a string begins here and does not end"
    shown = repr(character) if character.isprintable() else f"the character U+{ord(character):04X}"
    return f"{shown} has no place in a formula"


def shown(token: Token) -> str:
    """A token of the caller's own text in a message, cut where it is long."""
    if token.kind is Kind.END:
        return "the end of the formula"
    return repr(token.text[:SHOWN] + ("..." if len(token.text) > SHOWN else ""))
