"""Reading out a bot at the end of a call: its context, its actions, its database."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.context import ContextUnreadable, parse_context
from pytest_voiceeval.call.errors import StateUnreadable
from pytest_voiceeval.call.result import Record, SideRecord
from pytest_voiceeval.wire.errors import MessageTooLarge, RequestRefused, RequestTimeout

if TYPE_CHECKING:
    from pytest_voiceeval.call.peer import Peer

CONTEXT = "get_context_history"
SUMMARY = "get_scenario_summary"


@dataclass(frozen=True)
class Wanted:
    """What the scenario's verdict needs of a bot.

    Attributes:
        include_db: The database itself, whatever its hash.
        expected_hash: The database itself if its hash is another; None compares nothing.
        state_needed: Without the summary there is no verdict.
        actions_needed: Without its recorded actions there is none.
    """

    include_db: bool = False
    expected_hash: str | None = None
    state_needed: bool = False
    actions_needed: bool = False


@dataclass
class Pulled:
    """What one bot told when asked, and what went wrong with it."""

    context: tuple[Record, ...] | None = None
    actions: tuple[Record, ...] | None = None
    db_hash: str | None = None
    db: Any = None
    notes: list[str] = field(default_factory=list)


async def pull(peer: Peer, wanted: Wanted) -> Pulled:
    """Read out context and summary.

    Raises:
        StateUnreadable: The bot answered the summary with an error, or with something else than a
            summary, and the verdict needs it.
        ConnectionLost: The connection ended before it was through.
    """
    pulled = Pulled()
    pulled.context = await _context(peer, pulled.notes)
    summary = await _summary(peer, wanted, pulled.notes, include_db=wanted.include_db)
    if summary and not wanted.include_db and _differs(summary, wanted):
        again = await _summary(peer, wanted, pulled.notes, include_db=True)
        summary = again or summary
    _read_summary(summary, pulled)
    return pulled


def as_record(pulled: Pulled, peer: Peer) -> SideRecord:
    """Put the read-out and the events of one side together."""
    return SideRecord(
        context=pulled.context,
        actions=pulled.actions,
        db_hash=pulled.db_hash,
        db=pulled.db,
        tokens=peer.ledger.tokens,
        model_runs=peer.ledger.model_runs,
        uncounted_runs=peer.ledger.uncounted_runs,
    )


async def _context(peer: Peer, notes: list[str]) -> tuple[Record, ...] | None:
    try:
        return parse_context(await peer.request(CONTEXT, {}))
    except (RequestRefused, RequestTimeout, MessageTooLarge) as error:
        notes.append(f"no context history: {error}")
    except ContextUnreadable as error:
        notes.append(f"the {peer.side}'s context history cannot be read: {error}")
    return None


async def _summary(
    peer: Peer, wanted: Wanted, notes: list[str], *, include_db: bool
) -> dict[str, Any] | None:
    heard = len(peer.warnings)
    try:
        reply = await peer.request(SUMMARY, {"include_db": include_db})
    except (RequestTimeout, RequestRefused, MessageTooLarge) as error:
        if wanted.state_needed:
            # it may have answered with something we could not read
            unread = "".join(f"; {warning}" for warning in peer.warnings[heard:][-1:])
            raise StateUnreadable(
                f"the {peer.side} cannot tell its final state: {error}{unread}"
            ) from error
        notes.append(f"no scenario summary: {error}")
        return None
    if isinstance(reply, dict):
        return reply
    fault = f"the {peer.side}'s scenario summary is {reply!r:.80}, expected an object"
    if wanted.state_needed:
        raise StateUnreadable(fault)
    notes.append(fault)
    return None


def _differs(summary: dict[str, Any], wanted: Wanted) -> bool:
    return wanted.expected_hash is not None and summary.get("db_hash") != wanted.expected_hash


def _read_summary(summary: dict[str, Any] | None, pulled: Pulled) -> None:
    if summary is None:
        return
    actions = summary.get("actions") or []
    if not isinstance(actions, list):
        pulled.notes.append(f"'actions' of the summary is {actions!r:.80}, expected a list")
        actions = []
    pulled.actions = tuple(action for action in actions if isinstance(action, dict))
    if len(pulled.actions) < len(actions):
        pulled.notes.append("'actions' of the summary holds entries that are no objects")
    db_hash = summary.get("db_hash")
    pulled.db_hash = db_hash if isinstance(db_hash, str) else None
    pulled.db = summary.get("db")
