"""What calls cost, and the limit that all workers keep together."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.call.result import Conversation, SideRecord, Tokens, WireEvent
from pytest_voiceeval.plugin import cost as cost_module
from pytest_voiceeval.plugin.cost import Account, Bill, CostLimit, Speaker, Till
from pytest_voiceeval.plugin.model_options import ModelSettings

URL = "http://localhost:1/v1"
MODEL = Speaker("model", "m", URL)
SCRIPT = Speaker("script")
BOT = Speaker("bot")
COUNTED = SideRecord(tokens=Tokens(2, 1_000_000, 500_000), model_runs=2)
UNCOUNTED = SideRecord(tokens=Tokens(1, 10, 5), model_runs=1, uncounted_runs=1)


class Settings:
    """The part of the settings that a till reads."""

    def __init__(self, **models: Any) -> None:
        self.models = ModelSettings(**models)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "own.toml"
    file.write_text('date = 2026-11-30\n[[model]]\nnames = ["m"]\ninput = 1\noutput = 2\n')
    return file


@pytest.fixture
def till(table: Path, tmp_path: Path) -> Till:
    return Till(Settings(price_tables=(table,)), tmp_path / "cost.json")  # type: ignore[arg-type]


def priced(till: Till, agent: SideRecord, user: SideRecord | None = None) -> Conversation:
    bill = Bill(till, {"agent": MODEL, "user": SCRIPT if user is None else MODEL}, None)
    return bill.price(Conversation("d__s", "d", agent=agent, user=user))


@pytest.mark.parametrize(
    ("speaker", "record", "dollars"),
    [
        pytest.param(MODEL, COUNTED, 2.0, id="a model by its tokens"),
        pytest.param(MODEL, None, 0.0, id="a model that was never asked"),
        pytest.param(MODEL, SideRecord(), 0.0, id="a model that never answered"),
        pytest.param(MODEL, UNCOUNTED, None, id="an answer without counts"),
        pytest.param(MODEL, SideRecord(uncounted_runs=1), None, id="no answer with counts"),
        pytest.param(Speaker("model", "x", URL), COUNTED, None, id="a model without a price"),
        pytest.param(SCRIPT, COUNTED, 0.0, id="a script"),
        pytest.param(BOT, COUNTED, None, id="a bot of the user's"),
    ],
)
def test_one_side(
    till: Till, speaker: Speaker, record: SideRecord | None, dollars: float | None
) -> None:
    assert till.cost("agent", speaker, record).sides == {"agent": dollars}


def test_both_sides(till: Till) -> None:
    cost = priced(till, COUNTED, COUNTED).cost
    assert cost is not None
    assert cost.sides == {"agent": 2.0, "user": 2.0}
    assert cost.total == 4.0
    assert cost.models == {"agent": "m", "user": "m"}
    assert cost.as_of == date(2026, 11, 30)


def test_an_unknown_side_makes_the_whole_unknown(till: Till) -> None:
    cost = priced(till, UNCOUNTED, COUNTED).cost
    assert cost is not None
    assert cost.sides == {"agent": None, "user": 2.0}
    assert cost.total is None


def test_uncounted_answers_are_a_warning(till: Till) -> None:
    [warning] = priced(till, UNCOUNTED).warnings
    assert warning == (
        "the agent's cost is unknown: 1 of 2 answers of its model came without token counts"
    )


def test_an_answer_that_was_lost_is_not_free(till: Till) -> None:
    lost = {"fatal": False, "model_endpoint": {"status": None, "spent": True}}
    event = WireEvent(1.0, "agent", "error", {"error": "broke off", **lost})
    bill = Bill(till, {"agent": MODEL, "user": SCRIPT}, None)
    priced = bill.price(Conversation("d__s", "d", agent=COUNTED, events=(event,)))
    assert priced.cost is not None
    assert priced.cost.total is None
    assert priced.warnings == (
        "the agent's cost is unknown: 1 of 3 answers of its model came without token counts",
    )


def test_a_price_is_kept(till: Till) -> None:
    conversation = priced(till, COUNTED)
    bill = Bill(till, {"agent": BOT, "user": SCRIPT}, None)
    assert bill.price(conversation) is conversation


# -- the limit


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account(tmp_path / "shared" / "cost.json", limit=1.0)


def test_until_one_call_has_told_what_it_costs_the_next_waits(account: Account) -> None:
    assert account.open()
    assert not account.open()
    account.close(0.1)
    assert account.open()
    assert account.open()


def test_no_call_starts_that_could_pass_the_limit(account: Account) -> None:
    account.open()
    account.close(0.3)
    assert account.open()
    assert account.open()
    assert not account.open(), "three at 0.30 and 0.30 spent would be too much, if they cost that"
    account.close(0.3)
    account.close(0.05)
    assert account.open()
    account.close(0.3)
    with pytest.raises(CostLimit) as raised:
        account.open()
    assert str(raised.value) == (
        "not started: the calls so far cost $0.9500 and the dearest of them $0.3000, so another "
        "could pass --max-cost 1"
    )


def test_the_limit_may_be_reached(account: Account) -> None:
    for _ in range(10):
        assert account.open()
        account.close(0.1)
    with pytest.raises(CostLimit):
        account.open()


def test_an_unknown_cost_counts_as_the_dearest(account: Account) -> None:
    account.open()
    account.close(0.4)
    account.open()
    account.close(None)
    with pytest.raises(CostLimit, match=r"the calls so far cost \$0.8000"):
        account.open()


def test_a_run_that_never_tells_cannot_go_on(account: Account) -> None:
    account.open()
    account.close(None)
    with pytest.raises(CostLimit, match=r"1 call\(s\) of this run did not tell what they cost"):
        account.open()


def test_a_call_that_cost_nothing_tells_nothing(account: Account) -> None:
    account.open()
    account.close(0.0)
    assert account.open()
    assert not account.open()


def test_calls_of_a_dead_process_are_not_waited_for(account: Account, tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from pytest_voiceeval.plugin.cost import Account; import sys;"
        "print(Account(Path(sys.argv[1]), 1.0).open())"
    )
    file = tmp_path / "shared" / "cost.json"
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
    assert len(json.loads(file.read_text())["calls"]) == 1
    assert account.open()


async def test_a_bill_waits_for_the_calls_of_others(
    till: Till, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_module, "POLL", 0.01)
    first, second = (Bill(till, {"agent": MODEL, "user": SCRIPT}, account) for _ in range(2))
    await first.open()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(second.open())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        first.begin()
        first.price(Conversation("d__s", "d", agent=SideRecord(tokens=Tokens(1, 200_000, 0))))
        first.close()
    second.close()
    second.close()
    assert account.open()
    assert account.open()
    assert account.open()
    assert account.open()
    assert not account.open(), "0.20 spent, and four under way at up to 0.20"


async def test_a_call_that_was_cut_off_counts_as_unknown(till: Till, account: Account) -> None:
    bill = Bill(till, {"agent": MODEL, "user": SCRIPT}, account)
    await bill.open()
    bill.begin()
    bill.close()
    with pytest.raises(CostLimit, match="did not tell"):
        account.open()


async def test_what_a_bot_costs_is_none_of_the_limits_business(
    till: Till, account: Account
) -> None:
    bill = Bill(till, {"agent": BOT, "user": MODEL}, account)
    await bill.open()
    bill.begin()
    bill.price(Conversation("d__s", "d", user=SideRecord(tokens=Tokens(1, 900_000, 0))))
    bill.close()
    with pytest.raises(CostLimit, match=r"\$0.9000"):
        account.open()
