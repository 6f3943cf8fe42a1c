"""Costs: what is listed, what is unknown, and tables that are refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pytest_voiceeval.call.prices import PriceError, load_price_table, show_cost, total
from pytest_voiceeval.call.result import Tokens

OPENAI = "https://api.openai.com/v1"
TOKENS = Tokens(calls=8, prompt=20_000, completion=500)


def test_a_listed_model_costs_its_tokens() -> None:
    table = load_price_table()
    assert table.cost(TOKENS, "gpt-4.1-mini", OPENAI) == pytest.approx(0.008 + 0.0008)
    price = table.find("gpt-4.1-mini", OPENAI)
    assert price is not None
    assert price.date == date(2026, 6, 21)


@pytest.mark.parametrize(
    ("model", "url"),
    [
        pytest.param("gpt-4.1-mini-2031-01-01", OPENAI, id="another snapshot"),
        pytest.param("gpt-4.1-mini", "http://127.0.0.1:8000/v1", id="another host"),
        pytest.param("gpt-4.1-mini", "https://api.openai.com.evil.example/v1", id="lookalike"),
        pytest.param("qwen2.5:7b", "http://localhost:11434/v1", id="a local model"),
    ],
)
def test_what_is_not_listed_is_unknown(model: str, url: str) -> None:
    assert load_price_table().cost(TOKENS, model, url) is None


def test_unknown_tokens_cost_unknown() -> None:
    assert load_price_table().cost(None, "gpt-4.1-mini", OPENAI) is None


def test_a_subdomain_of_the_host_counts() -> None:
    url = "https://EU.api.openai.com:443/v1"
    assert load_price_table().cost(TOKENS, "gpt-4o", url) == pytest.approx(0.055)


def test_the_users_own_table_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        "date = 2026-11-30\n"
        '[[model]]\nnames = ["gpt-4.1-mini"]\ninput = 1\noutput = 2\n'
        '[[model]]\nnames = ["qwen2.5:7b"]\ninput = 0\noutput = 0\n'
    )
    table = load_price_table(own)
    assert table.cost(TOKENS, "gpt-4.1-mini", OPENAI) == pytest.approx(0.021)
    assert table.cost(TOKENS, "gpt-4.1-mini", "http://proxy/v1") == pytest.approx(0.021)
    assert table.cost(TOKENS, "qwen2.5:7b", "http://localhost:11434/v1") == 0
    assert table.cost(TOKENS, "gpt-4o-mini", OPENAI) == pytest.approx(0.0033)


def test_an_unknown_part_makes_the_sum_unknown() -> None:
    assert total([0.25, 0.5]) == 0.75
    assert total([]) == 0
    assert total([0.25, None]) is None


@pytest.mark.parametrize(
    ("cost", "text"),
    [(None, "unknown"), (0.0, "$0.0000"), (0.00876, "$0.0088"), (12.345, "$12.35")],
)
def test_costs_for_people(cost: float | None, text: str) -> None:
    assert show_cost(cost) == text


ENTRY = '[[model]]\nnames = ["m"]\ninput = 1\noutput = 2\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("date = ", "not a TOML file"),
        (ENTRY, "'date' must be the day of its prices"),
        ("date = 2026-01-01T10:00:00\n" + ENTRY, "'date' must be the day"),
        ("date = 2026-01-01\n" + ENTRY + ENTRY.replace("model", "models"), "unknown key 'models'"),
        ("date = 2026-01-01\n", r"there is no \[\[model\]\] in it"),
        ("date = 2026-01-01\nmodel = [1]\n", r"\[\[model\]\] number 1: must be a table"),
        ("date = 2026-01-01\n" + ENTRY + "inptu = 3\n", "number 1: unknown key 'inptu'; known: h"),
        ("date = 2026-01-01\n" + ENTRY.replace("names", "host"), "'names' must be a list"),
        ("date = 2026-01-01\n" + ENTRY + "host = 3\n", "'host' must be the name of a host"),
        ("date = 2026-01-01\n" + ENTRY.replace("1", "-1"), "'input' must be dollars for a mill"),
        ("date = 2026-01-01\n" + ENTRY.replace("2", "nan"), "'output' must be dollars .*got nan"),
        ("date = 2026-01-01\n" + ENTRY.replace("2", "true"), "'output' must be dollars .*got True"),
        ("date = 2026-01-01\n" + ENTRY + ENTRY.replace("1", '"1"'), "number 2: 'input' must be"),
    ],
)
def test_tables_of_another_shape_are_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(content)
    with pytest.raises(PriceError, match=message):
        load_price_table(file)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PriceError, match=r"the price table cannot be read: .*none.toml"):
        load_price_table(tmp_path / "none.toml")


def test_the_table_of_the_documentation_is_one(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "models.md"
    _, _, rest = page.read_text(encoding="utf-8").partition('```toml title="prices.toml"\n')
    file = tmp_path / "prices.toml"
    file.write_text(rest.partition("```")[0])
    table = load_price_table(file)
    assert table.cost(TOKENS, "qwen2.5:14b", "http://localhost:11434/v1") == 0
    assert table.cost(TOKENS, "gpt-4.1-mini", OPENAI) == pytest.approx(0.0088)
