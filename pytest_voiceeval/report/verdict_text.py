"""The first lines: why the call failed in plain words, its signals, and how it ended."""

from __future__ import annotations

import signal
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_voiceeval.call.faults import describe_exit
from pytest_voiceeval.call.result import AGENT_FAULTS, EndReason
from pytest_voiceeval.report.actions_text import concerns_actions, title_of
from pytest_voiceeval.report.characters import columns, flat, one_line, without_terminal_codes
from pytest_voiceeval.report.database_text import in_telling_order
from pytest_voiceeval.report.judge_text import judge_clauses
from pytest_voiceeval.report.layout import WIDTH, Lines, Section, clip, count, wrap
from pytest_voiceeval.report.writers import record_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_voiceeval.call.result import CallResult, Conversation, ProcessExit

LOG_LINES = 5

_CUT_OFF = {
    EndReason.TIMEOUT: "time limit reached before the agent ended the call",
    EndReason.TURN_LIMIT: "turn limit reached before the agent ended the call",
    EndReason.BOTH_SILENT: "both fell silent before the agent ended the call",
}


def headline(result: CallResult) -> str:
    """Why the call failed, in plain words; what caused the rest comes first."""
    if result.passed:
        return "the call passed"
    if result.passed is None:
        return "not judged: none of the signals of this scenario applies"
    if result.end_reason in AGENT_FAULTS:
        return _agent_fault(result)
    return "; ".join(_reasons(result)) or "not successful"


def _agent_fault(result: CallResult) -> str:
    turn = max((u.turn for u in result.transcript), default=1)
    detail = one_line(result.end_detail)
    if result.end_reason is EndReason.AGENT_SILENT:
        return f"agent fell silent: {detail}" if detail else f"agent fell silent in turn {turn}"
    if result.end_reason is EndReason.AGENT_ERROR:
        return f"agent reported a fatal error: {detail or 'without a text'}"
    exit_ = result.conversation.process_exit
    if exit_ is None:
        return f"agent closed the connection in turn {turn}"
    return f"agent's process {how_it_ended(exit_)} in turn {turn}"


def _turns_made(result: CallResult) -> str:
    """`only 2 turns`; model calls where those were counted and are not the same."""
    tokens = result.tokens.get("agent")
    if tokens is None or tokens.calls == result.agent_turns:
        turns, noun = result.agent_turns, "turn"
    else:
        turns, noun = tokens.calls, "model call"
    return f"only {count(turns, noun)}" if turns else f"not one {noun}"


def _reasons(result: CallResult) -> Iterator[str]:
    """One clause a failed signal; a limit that cut the call off comes before what it caused."""
    failed = [str(name) for name in result.breakdown["failed"]]
    unclean = "clean_exit" in failed
    if unclean and result.end_reason in _CUT_OFF:
        yield _CUT_OFF[result.end_reason]
    if result.stalled:
        yield f"stalled: {_turns_made(result)} of the agent (see --min-agent-turns)"
        return
    clauses = {
        "db_state_match": _database_clause(result),
        "is_action_match": _actions_clause(result),
        "db_state_assertion": _predicates_clause(result),
        **judge_clauses(result.judgement),
    }
    evidence = {verdict.name: verdict.why for verdict in result.verdicts}
    clauses |= {name: _added_clause(name, why) for name, why in evidence.items()}
    yield from dict.fromkeys(clause for name, clause in clauses.items() if name in failed)
    if unclean and result.end_reason not in _CUT_OFF:
        yield "agent did not end the call, the caller hung up"


def _database_clause(result: CallResult) -> str:
    """What differs in the databases that are compared."""
    of_caller = result.user_database
    clauses = []
    if result.expected_hash is not None and result.db_hash != result.expected_hash:
        clauses.append(_agent_database_clause(result))
    if of_caller is not None and not of_caller.matches:
        places = of_caller.changes
        known = "is not known" if places is None else f"differs in {count(len(places), 'place')}"
        clauses.append(f"caller's database {known}")
    return ", ".join(clauses)


def _agent_database_clause(result: CallResult) -> str:
    if result.changes is None:
        return "database differs, how is not known" if result.db_hash else "database is not known"
    if not result.db:
        return "database is empty"
    ordered = in_telling_order(result.changes, result.tool_calls)
    tables = dict.fromkeys(one_line(record_of(change)[0]) for change in ordered if change.path)
    clause = f"database differs in {count(len(result.changes), 'place')}"
    where = f"{clause} ({', '.join(tables)})"
    return where if tables and columns(where) <= WIDTH else clause


def _actions_clause(result: CallResult) -> str:
    found = result.action_differences
    if not found:
        return "actions are not as referenced"
    kinds = Counter[str](each.kind for each in found)
    words = {"missing": "missing", "changed": "not as referenced", "extra": "too many"}
    parts = [f"{kinds[kind]} {word}" for kind, word in words.items() if kinds[kind]]
    noun = "actions" if concerns_actions(found) else "result"
    clause = f"{noun}: {', '.join(parts)}"
    titles = dict.fromkeys(title_of(each) for each in found)
    where = f"{clause} ({', '.join(titles)})"
    return where if columns(where) <= WIDTH else clause


def _predicates_clause(result: CallResult) -> str:
    verdicts = result.assertion_verdicts
    failed = sum(not verdict["passed"] for verdict in verdicts)
    return f"{failed} of {count(len(verdicts), 'database predicate')} failed"


def _added_clause(name: str, why: str) -> str:
    """A signal of a plugin's."""
    return f"{name}: {one_line(why)}" if why else f"{name} failed"


def verdict_section(result: CallResult) -> Section:
    """Headline, signals and end."""
    return Section((*wrap(headline(result), limit=3), *_signals(result), *_ending(result)))


def _signals(result: CallResult) -> Lines:
    buckets = {
        "failed": result.breakdown["failed"],
        "passed": result.breakdown["passed"],
        "not judged": result.breakdown["not_applicable"],
        "does not count": [
            f"{name} ({'passed' if result.signals.get(name) else 'failed'})"  # type: ignore[call-overload]
            for name in result.breakdown["excluded"]
        ],
    }
    parts = [f"{word}: {', '.join(map(str, names))}" for word, names in buckets.items() if names]
    return wrap("; ".join(parts)) if parts else ()


def _ending(result: CallResult) -> Lines:
    turns = count(result.agent_turns, "agent turn")
    text = f"ended: {result.end_reason} after {turns}, {result.duration:.1f} s"
    detail = _detail(result)
    lines = wrap(f"{text}: {detail}" if detail else text, limit=2)
    words = _last_words_of_caller(result.conversation)
    return (*lines, *([words] if result.end_reason in AGENT_FAULTS and words else []))


def _detail(result: CallResult) -> str:
    """Evidence for the end, unless the headline or the log below it says the same."""
    if result.end_reason in {EndReason.EXIT, EndReason.AGENT_SILENT, EndReason.AGENT_ERROR}:
        return ""
    if result.conversation.process_exit is not None:
        return ""
    return one_line(result.end_detail)


def _last_words_of_caller(conversation: Conversation) -> str:
    said = [u for u in conversation.transcript if u.role == "user"]
    return clip(f"the caller had said: {one_line(said[-1].text)}") if said else ""


def how_it_ended(exit_: ProcessExit) -> str:
    """`exited with code 13`, `was ended by SIGSEGV`."""
    if exit_.signal is None:
        return f"exited with code {exit_.code}"
    try:
        return f"was ended by {signal.Signals(exit_.signal).name}"
    except ValueError:
        return f"was ended by signal {exit_.signal}"


def log_sections(conversation: Conversation) -> list[Section]:
    """The last lines of the log of an agent whose process ended, most recent last."""
    exit_ = conversation.process_exit
    if exit_ is None:
        return []
    log = [line for line in map(_log_line, exit_.log_tail) if line]
    how = f"the agent's process {how_it_ended(exit_)}"
    if not log:
        return [Section((f"{how} and left no log",))]
    *earlier, last = log[-LOG_LINES:]
    lines = [clip(f"  {line}") for line in earlier]
    lines += wrap(last, lead="  ", indent=4, limit=3)
    return [Section((f"{how}; the last lines of its log:", *lines))]


def _log_line(line: str) -> str:
    return flat(without_terminal_codes(line)).rstrip()


def without_log(text: str, conversation: Conversation | None) -> str:
    """Drop the log from an error's text when it is shown by itself."""
    exit_ = conversation.process_exit if conversation is not None else None
    if exit_ is None:
        return text
    return text.replace(describe_exit(exit_), describe_exit(replace(exit_, log_tail=())))


def notes_sections(warnings: Sequence[str]) -> list[Section]:
    """What looked odd and changed no verdict; it may still be the cause."""
    if not warnings:
        return []
    return [
        Section(
            ("noticed:",),
            tuple(wrap(one_line(note), lead="  ", indent=4, limit=2) for note in warnings),
        )
    ]
