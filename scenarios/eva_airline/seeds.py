"""Five callers by name, one for each of the domain's main flows.

What is particular to the person comes from the record, because an edition has its own passengers.
"""

from __future__ import annotations

from .derived import RecordScenario


class VoluntaryDateChange(RecordScenario):
    """A passenger moves a trip to another day."""

    name = "eva_airline__voluntary_date_change"
    eva_id = "1.1.2"
    description = "A passenger moves a trip to another day, with a limit on what it may cost."
    manner = "You know which day you want, and you ask what a change costs before you agree to it."


class IrropsCancellation(RecordScenario):
    """The airline cancelled the flight."""

    name = "eva_airline__irrops_cancellation"
    eva_id = "2.1.1"
    description = "The airline cancelled the flight; the passenger is rebooked and looked after."
    manner = "You did not cause this disruption, and you expect not to pay for it."


class MissedFlightStandby(RecordScenario):
    """The passenger missed the flight."""

    name = "eva_airline__missed_flight_standby"
    eva_id = "3.1.3"
    description = "A passenger missed the flight, still travels today, and waits for a free seat."
    manner = "You know that you missed your flight, and you keep an eye on the money."


class CancellationRefund(RecordScenario):
    """The passenger cancels."""

    name = "eva_airline__cancellation_refund"
    eva_id = "5.1.1"
    description = "A passenger cancels the whole booking and wants the money back on the card."
    manner = "You want to hear clearly what happens to your money before you hang up."


class EscalationEdgeCase(RecordScenario):
    """The passenger presses for what the rules do not grant."""

    name = "eva_airline__escalation_edge_case"
    eva_id = "7.2.1"
    description = "A passenger presses for free changes on a claim that the records contradict."
    manner = "You are sure of your story and press for what you want until it is clearly refused."


SEEDS = (
    VoluntaryDateChange,
    IrropsCancellation,
    MissedFlightStandby,
    CancellationRefund,
    EscalationEdgeCase,
)
