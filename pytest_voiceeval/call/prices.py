"""What a call's models cost: a dated table of prices, extended by the user's own.

Cached and batched tokens are counted at the full price, so a cost is an upper bound. What the table
does not hold, or a side did not report, is unknown: None here, ``unknown`` for people, never 0.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import Tokens

SHIPPED = Path(__file__).with_name("prices.toml")
MILLION = 1_000_000

_KEYS = {"host", "names", "input", "output"}
_LARGEST = 1_000_000.0
"""Dollars for a million tokens; more is a slip of the pen."""


class PriceError(ValueError):
    """A price table that cannot be used; the text names file, entry and key."""


@dataclass(frozen=True)
class Price:
    """The price of some models, in dollars for a million tokens.

    Attributes:
        names: The models.
        host: Where that is the price; None anywhere.
        input: For what is sent.
        output: For what is answered, thinking included.
        date: As of when.
        source: File it is from.
    """

    names: tuple[str, ...]
    host: str | None
    input: float
    output: float
    date: date
    source: Path

    def cost(self, tokens: Tokens) -> float:
        """Dollars for one side of a call."""
        return (tokens.prompt * self.input + tokens.completion * self.output) / MILLION

    def holds_for(self, model: str, host: str) -> bool:
        """Whether it is the price of a model at a host."""
        at_host = self.host is None or host == self.host or host.endswith(f".{self.host}")
        return at_host and model in self.names


@dataclass(frozen=True)
class PriceTable:
    """Prices, the first that holds counts."""

    prices: tuple[Price, ...]

    def find(self, model: str, url: str) -> Price | None:
        """The price of a model behind an address, None if it is not listed."""
        host = (urlsplit(url).hostname or "").lower()
        return next((price for price in self.prices if price.holds_for(model, host)), None)

    def cost(self, tokens: Tokens | None, model: str, url: str) -> float | None:
        """Dollars for one side of a call, None if its tokens or their price are unknown."""
        price = None if tokens is None else self.find(model, url)
        return None if price is None or tokens is None else price.cost(tokens)


@dataclass(frozen=True)
class Cost:
    """What the models of one call cost.

    Attributes:
        sides: Dollars by side, such as ``agent`` and ``user``; None where that is unknown.
        models: Names of the models that were asked on behalf of a side, as far as they are known.
        as_of: Day of the oldest price in it, None if there is none in it.
    """

    sides: Mapping[str, float | None]
    models: Mapping[str, str]
    as_of: date | None = None

    @property
    def total(self) -> float | None:
        """Dollars of all sides, None if one of them is unknown."""
        return total(self.sides.values())

    def plus(self, other: Cost) -> Cost:
        """This and another, as when a call that was held is judged as well."""
        days = [day for day in (self.as_of, other.as_of) if day is not None]
        return Cost(
            {**self.sides, **other.sides}, {**self.models, **other.models}, min(days, default=None)
        )


def load_price_table(*own: Path) -> PriceTable:
    """Read the shipped table and the user's own, which come first in the order given.

    Raises:
        PriceError: A file cannot be read or is of another shape.
    """
    return PriceTable(tuple(price for file in (*own, SHIPPED) for price in _read(file)))


def total(costs: Iterable[float | None]) -> float | None:
    """The sum, None if a part of it is unknown."""
    known: list[float] = []
    for cost in costs:
        if cost is None:
            return None
        known.append(cost)
    return sum(known)


def show_cost(cost: float | None) -> str:
    """A cost for people: four digits after the point where it is small."""
    if cost is None:
        return "unknown"
    return f"${cost:.4f}" if cost < 1 else f"${cost:.2f}"


def _read(file: Path) -> list[Price]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PriceError(f"the price table cannot be read: {error}") from None
    except ValueError as error:
        raise PriceError(f"{file}: not a TOML file: {error}") from None
    unknown = set(content) - {"date", "model"}
    if unknown:
        raise PriceError(f"{file}: unknown key {min(unknown)!r}; known: date, model")
    as_of, models = content.get("date"), content.get("model")
    if type(as_of) is not date:
        raise PriceError(f"{file}: 'date' must be the day of its prices, such as 2026-06-21")
    if not isinstance(models, list) or not models:
        raise PriceError(f"{file}: there is no [[model]] in it")
    return [_price(entry, as_of, file, number) for number, entry in enumerate(models, start=1)]


def _price(entry: Any, as_of: date, file: Path, number: int) -> Price:
    where = f"{file}: [[model]] number {number}"
    if not isinstance(entry, Mapping):
        raise PriceError(f"{where}: must be a table")
    unknown = set(entry) - _KEYS
    if unknown:
        raise PriceError(
            f"{where}: unknown key {min(unknown)!r}; known: {', '.join(sorted(_KEYS))}"
        )
    names, host = entry.get("names"), entry.get("host")
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise PriceError(f"{where}: 'names' must be a list of model names")
    if not (host is None or (isinstance(host, str) and host)):
        raise PriceError(f"{where}: 'host' must be the name of a host, or left out")
    return Price(
        names=tuple(names),
        host=host.lower() if host else None,
        input=_dollars(entry, "input", where),
        output=_dollars(entry, "output", where),
        date=as_of,
        source=file,
    )


def _dollars(entry: Mapping[str, Any], key: str, where: str) -> float:
    value: Any = entry.get(key)
    if type(value) not in {int, float} or not 0 <= value <= _LARGEST:
        raise PriceError(f"{where}: {key!r} must be dollars for a million tokens, got {value!r}")
    return float(value)
