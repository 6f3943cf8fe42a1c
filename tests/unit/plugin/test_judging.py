"""When the judge of a run is on, and what it is asked: in parallel, beside the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_voiceeval.call.prices import Cost, load_price_table
from pytest_voiceeval.call.result import CallResult, SideRecord, Utterance
from pytest_voiceeval.call.score import score
from pytest_voiceeval.plugin import judge_options
from pytest_voiceeval.plugin.judge_evidence import evidence_of
from pytest_voiceeval.plugin.judge_marks import JudgeAsk, ask_of, asks_for_judge
from pytest_voiceeval.plugin.judge_options import JudgeSettings, is_on
from pytest_voiceeval.plugin.judging import Judging, check_judge, llm_judge
from pytest_voiceeval.plugin.model_options import ModelSettings
from pytest_voiceeval.scoring.signals import SuccessSignal
from tests.scripted_judge import Answer, Request, approve, evidence, scripted_judge, verdict
from tests.unit.call.test_score import agent, shop, talk

S = SuccessSignal
BY_JUDGE = (S.JUDGE_PASSED, S.CLEAN_EXIT)
SPOKEN = (Utterance("agent", "Hi.", 0, 1, 1), Utterance("user", "Bye.", 1, 2, 2))
CONTEXT = ({"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."})


# -- on or off


@pytest.mark.parametrize(
    ("expression", "asks"),
    [
        ("judge", True),
        ("judge and not slow", True),
        ("slow or judge", True),
        ("not (smoke or not judge)", True),
        ("not not judge", True),
        ("(judge)", True),
        ("judge(threshold=0.9)", True),
        ("", False),
        ("not judge", False),
        ("not (judge or slow)", False),
        ("slow and not judge", False),
        ("not (not (not judge))", False),
        ("judges", False),
        ("no_judge", False),
        (") judge (", True),
    ],
)
def test_marker_expressions_that_ask_for_the_judge(expression: str, asks: bool) -> None:
    assert asks_for_judge(expression) is asks


def config(
    markexpr: str = "", url: str | None = None, *, collectonly: bool = False, **options: Any
) -> Any:
    given = {"voiceeval_judge_url": url, **options}
    option = SimpleNamespace(markexpr=markexpr, collectonly=collectonly)
    return SimpleNamespace(getoption=given.get, option=option)


def settings(**judge: Any) -> Any:
    return SimpleNamespace(judge=JudgeSettings(**judge), models=ModelSettings())


@pytest.mark.parametrize(
    ("given", "option", "on"),
    [
        # an address in the ini file says where the judge is, not that it is wanted
        (config(), False, False),
        (config(), True, True),
        (config("judge"), False, True),
        (config("not judge"), False, False),
        (config(url="http://h/v1"), False, True),
    ],
)
def test_when_it_is_on(given: Any, option: bool, on: bool) -> None:
    assert is_on(given, {"--judge": option, "--judge-url": "http://h/v1"}) is on


@pytest.mark.parametrize(
    ("judge", "text"),
    [
        ({}, "nothing says which one it is: give --judge-url and --judge-model"),
        ({"url": "http://h/v1"}, "nothing says which one it is: give --judge-model"),
        ({"model": "m"}, "nothing says which one it is: give --judge-url"),
        (
            {"url": "http://h/v1", "model": "m", "api_key_name": "NO_SUCH_KEY"},
            "the environment variable NO_SUCH_KEY, which is to hold the key of the judge",
        ),
        ({"url": "ftp://h", "model": "m"}, "--judge-url: the judge's address"),
        ({"url": "http://h?key=sesame v", "model": "m"}, r"key=\*\*\*"),
    ],
)
def test_a_judge_that_cannot_be_asked_is_refused_before_any_call(
    judge: dict[str, Any], text: str
) -> None:
    with pytest.raises(pytest.UsageError, match=text) as error:
        check_judge(config(), settings(on=True, **judge))
    assert "sesame" not in str(error.value)
    check_judge(config(), settings(**judge))
    check_judge(config(collectonly=True), settings(on=True, **judge))


def test_a_cost_limit_needs_the_judges_price() -> None:
    asked = settings(on=True, url="http://h/v1", model="nobody-knows")
    asked.models = ModelSettings(max_cost=1.0)
    with pytest.raises(pytest.UsageError, match="no price of 'nobody-knows' at http://h/v1/chat"):
        check_judge(config(), asked)


@pytest.mark.parametrize(
    ("flag", "value", "text"),
    [
        ("--judge-threshold", 1.5, "--judge-threshold must be a number from 0 to 1, got 1.5"),
        ("--judge-timeout", 0.0, "--judge-timeout must be a finite number of seconds above 0"),
        ("--judge-context-string-limit", 0, "--judge-context-string-limit must be a whole number"),
        ("--judge-temperature", -1.0, "--judge-temperature must be 0 or more"),
        ("--judge-concurrency", 0, "--judge-concurrency must be a whole number above 0"),
        ("--judge-model", " ", "--judge-model is empty"),
    ],
)
def test_options_are_checked_by_name(flag: str, value: Any, text: str, tmp_path: Any) -> None:
    values = {option.flag: option.default for option in judge_options.OPTIONS}
    assert judge_options.read(values, tmp_path) == JudgeSettings()
    with pytest.raises(pytest.UsageError, match=text):
        judge_options.read({**values, flag: value}, tmp_path)


# -- marks


@pytest.mark.parametrize(
    ("mark", "ask"),
    [
        ({}, JudgeAsk()),
        ({"criteria": "is kind"}, JudgeAsk(("is kind",))),
        ({"criteria": ["a", "b", "a"], "threshold": 0.5}, JudgeAsk(("a", "b"), 0.5)),
        ({"threshold": 0}, JudgeAsk((), 0)),
    ],
)
def test_what_a_marker_asks_for(mark: dict[str, Any], ask: JudgeAsk) -> None:
    item: Any = SimpleNamespace(iter_markers=lambda name: [pytest.mark.judge(**mark).mark])
    assert ask_of(item) == ask


def test_criteria_add_up_and_the_closest_threshold_counts() -> None:
    marks = [
        pytest.mark.judge(criteria="near", threshold=0.5).mark,
        pytest.mark.judge(criteria="far", threshold=0.9).mark,
    ]
    item: Any = SimpleNamespace(iter_markers=lambda name: iter(marks))
    assert ask_of(item) == JudgeAsk(("far", "near"), 0.5)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        (("x",), {}, "it does not take positional arguments; it takes criteria and threshold"),
        ((), {"criterion": "x"}, "it does not take criterion"),
        ((), {"criteria": ""}, "criteria is a statement, or a list of them, in words"),
        ((), {"criteria": ["a", ""]}, "criteria is a statement"),
        ((), {"criteria": 3}, "criteria is a statement"),
        ((), {"threshold": "high"}, "threshold is a number from 0 to 1, not 'high'"),
        ((), {"threshold": True}, "threshold is a number"),
        ((), {"threshold": float("nan")}, "threshold is a number"),
    ],
)
def test_a_marker_that_cannot_be_used(args: Any, kwargs: dict[str, Any], text: str) -> None:
    mark = SimpleNamespace(args=args, kwargs=kwargs)
    item: Any = SimpleNamespace(iter_markers=lambda name: [mark])
    with pytest.raises(pytest.fail.Exception, match=text):
        ask_of(item)


# -- what the judge is shown


def scored(*, context: Any = CONTEXT, transcript: Any = SPOKEN, **record: Any) -> CallResult:
    side = agent(context=context, **record)
    result = score(shop(*BY_JUDGE), talk(transcript=transcript, agent=side))
    cost = Cost({"agent": 0.0}, {})
    return replace(result, conversation=replace(result.conversation, cost=cost))


def test_payloads_are_shown_in_one_shape() -> None:
    result = scored(actions=({"action_type": "refund"},))
    shown = evidence_of([{"message": "yes"}], result, (), transcript=False)
    assert shown["reference"] == '{\n  "message": "yes"\n}'
    assert '"action_type": "refund"' in shown["prediction"]
    assert evidence_of("yes", result, (), transcript=False)["reference"] == shown["reference"]
    assert evidence_of(None, result, (), transcript=False)["reference"] is None


def test_a_call_that_is_only_talk_has_no_prediction() -> None:
    shown = evidence_of("yes", scored(), ["a"], transcript=False)
    assert shown["prediction"] is None
    assert shown["conversation"] is None
    assert shown["agent_context_history"] == CONTEXT
    assert shown["nl_assertions"] == ["a"]


@pytest.mark.parametrize(("context", "asked"), [(CONTEXT, True), (None, False), ((), False)])
def test_the_transcript_is_shown_when_asked_for_or_in_place_of_a_context(
    context: Any, asked: bool
) -> None:
    shown = evidence_of(None, scored(context=context), (), transcript=asked)
    assert [turn["text"] for turn in shown["conversation"]] == ["Hi.", "Bye."]


def test_a_filler_and_its_answer_are_one_turn() -> None:
    transcript = (
        Utterance("agent", "One moment.", 0, 1, 2),
        Utterance("agent", "It leaves at nine.", 3, 4, 2),
        Utterance("user", "Thanks.", 5, 6, 3),
    )
    shown = evidence_of(None, scored(transcript=transcript), (), transcript=True)
    assert shown["conversation"] == [
        {"role": "agent", "text": "One moment. It leaves at nine."},
        {"role": "user", "text": "Thanks."},
    ]


def test_the_callers_context_is_shown_as_the_callers() -> None:
    result = scored()
    user = SideRecord(context=({"role": "user", "content": "mine"},))
    result = replace(result, conversation=replace(result.conversation, user=user))
    assert evidence_of(None, result, (), transcript=False)["user_context_history"] == user.context


# -- asking


def judging(url: str, **more: Any) -> Judging:
    asked = JudgeSettings(on=True, url=url, model="gpt-5-mini", **more)
    return Judging(asked, load_price_table(), threshold_is_fixed=False)


async def test_a_call_is_judged_and_the_results_say_by_whom() -> None:
    with scripted_judge(reply=lambda request: verdict(0.95, "fine")) as url:
        judge = judging(f"{url}?key=sesame", temperature=0.0, compact_context=True)
        result = await judge.judge(shop(*BY_JUDGE), scored(), JudgeAsk())
    assert result.passed is True
    found = result.judgement
    assert found is not None
    assert (found.score, found.reason, found.reached) == (0.95, "fine", True)
    assert found.settings == {
        "model": "gpt-5-mini",
        "url": f"{url}?key=***",
        "prompt": found.settings["prompt"],
        "threshold": 0.9,
        "timeout": 120.0,
        "include_conversation": False,
        "temperature": 0.0,
        "compact_context": True,
        "context_message_limit": 40,
        "context_system_string_limit": 2500,
        "context_string_limit": 6000,
    }
    assert len(found.settings["prompt"]) == 12
    assert found.record["judge_input"]["user_content"] == evidence(url.requests[0])
    assert found.record["cost"] is None  # its price is known for one host only
    assert result.conversation.cost is not None
    assert result.conversation.cost.sides == {"agent": 0.0, "judge": None}


async def test_statements_of_scenario_and_item_are_decided_together() -> None:
    scenario = shop(*BY_JUDGE, nl_assertions=["a", "b"])
    with scripted_judge(approve) as url:
        result = await judging(url).judge(scenario, scored(), JudgeAsk(("b", "c"), 0.5))
    assert result.judgement is not None
    assert [each["assertion"] for each in result.judgement.assertions] == ["a", "b", "c"]
    assert result.judgement.threshold == 0.5
    assert result.breakdown["passed"] == ["nl_assertion", "judge_passed", "clean_exit"]


async def test_a_threshold_on_the_command_line_beats_the_markers() -> None:
    asked = JudgeSettings(on=True, url="http://127.0.0.1:9/v1", model="m", threshold=0.7)
    fixed = Judging(asked, load_price_table(), threshold_is_fixed=True)
    assert fixed.threshold(JudgeAsk((), 0.2)) == 0.7


async def test_a_broken_call_is_not_sent_and_not_good() -> None:
    scenario = shop(*BY_JUDGE, nl_assertions=["a"])
    with scripted_judge(approve) as url:
        result = await judging(url).judge(scenario, scored(transcript=SPOKEN[:1]), JudgeAsk())
    assert not url.requests
    assert result.passed is False
    assert result.signals[S.NL_ASSERTION] is result.signals[S.JUDGE_PASSED] is False
    assert result.judgement is not None
    assert result.judgement.score is result.judgement.record["score"] is None
    assert result.judgement.reason.endswith("the caller never said a word")


async def test_a_flag_beside_the_score_is_shown_and_does_not_decide() -> None:
    with scripted_judge(reply=lambda request: {**verdict(0.75), "pass": False}) as url:
        result = await judging(url, threshold=0.7).judge(shop(*BY_JUDGE), scored(), JudgeAsk())
    assert result.passed is True
    assert (
        "the judge's reply says pass: false, but its score 0.75 decides (threshold 0.7)"
        in result.warnings
    )


async def test_a_shortened_context_is_told() -> None:
    with scripted_judge(approve) as url:
        judge = judging(url, compact_context=True, context_message_limit=1)
        result = await judge.judge(shop(*BY_JUDGE), scored(), JudgeAsk())
    assert (
        "the judge was shown a shortened context: agent_context_history: 1 of 2 messages left out"
        in result.warnings
    )


async def test_calls_are_judged_at_once_and_the_loop_goes_on() -> None:
    going = most = 0
    lock = threading.Lock()

    def reply(request: Request) -> Answer:
        nonlocal going, most
        with lock:
            going += 1
            most = max(most, going)
        time.sleep(0.1)
        with lock:
            going -= 1
        return Answer('{"score": 1.0}')

    with scripted_judge(reply) as url:
        judge = judging(url)
        result = scored()
        work = asyncio.gather(
            *(judge.judge(shop(*BY_JUDGE), result, JudgeAsk()) for _ in range(20))
        )
        ticks = 0
        while not work.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert all(each.passed for each in await work)
    assert most == 8
    assert ticks >= 5


async def test_cancelling_does_not_wait_for_the_judge() -> None:
    with scripted_judge(reply=lambda request: Answer('{"score": 1.0}', delay=5)) as url:
        task = asyncio.ensure_future(judging(url).judge(shop(*BY_JUDGE), scored(), JudgeAsk()))
        await asyncio.sleep(0.1)
        task.cancel()
        async with asyncio.timeout(3):
            with pytest.raises(asyncio.CancelledError):
                await task


def test_the_key_comes_from_the_default_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "abc")
    assert "abc" in llm_judge(JudgeSettings(url="http://h/v1", model="m")).headers["Authorization"]
