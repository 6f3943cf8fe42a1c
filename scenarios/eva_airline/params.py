"""The parameters of the 15 tools: what is accepted, and how a bad value is refused.

Each class holds one tool's parameters in the order in which they are checked. Values are read
leniently: numbers and yes/no may be text, arguments nobody asked for are ignored.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from pytest_voiceeval.tools import ParameterRule

# Digits are [0-9] because \d would take the digits of every script.
_FLIGHT = "[A-Za-z]{2,3}[0-9]{1,4}"
_JOURNEY_PATTERN = rf"^FL_(?:{_FLIGHT}_)+[0-9]{{8}}$"
_PASSENGER_PATTERN = "^PAX[0-9]+$"

ConfirmationNumber = Annotated[
    str,
    StringConstraints(pattern="^[A-Za-z0-9]{6}$", to_upper=True),
    Field(description="The booking's confirmation number: 6 letters or digits, e.g. K7M2QX."),
]
FlightNumber = Annotated[
    str,
    Field(pattern=f"^{_FLIGHT}$", description="Airline letters and digits, e.g. SK621."),
]
FlightDate = Annotated[
    str,
    Field(
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        description="Day of departure at the origin, as YYYY-MM-DD.",
    ),
]
BookedJourney = Annotated[
    str,
    Field(
        pattern=_JOURNEY_PATTERN,
        description="Id of the booked journey it is about, as the reservation shows it: "
        "FL_<flight>_<YYYYMMDD>, e.g. FL_SK621_20260320.",
    ),
]
FoundJourney = Annotated[
    str,
    Field(
        pattern=_JOURNEY_PATTERN,
        description="Id of the journey to take instead, as the search shows it, "
        "e.g. FL_SK703_20260325.",
    ),
]
PassengerId = Annotated[
    str,
    Field(
        pattern=_PASSENGER_PATTERN, description="Id of the passenger in the reservation: PAX001."
    ),
]
PassengerIds = Annotated[
    list[Annotated[str, Field(pattern=_PASSENGER_PATTERN)]],
    Field(description="Ids of the passengers in the reservation, e.g. [PAX001]."),
]
Airport = Annotated[
    str,
    StringConstraints(pattern="^[A-Za-z]{3}$", to_upper=True),
    Field(description="Airport code of 3 letters, e.g. JFK."),
]
Money = Annotated[
    float, Field(gt=0, allow_inf_nan=False, description="Amount in dollars, more than 0.")
]

Cabin = Literal["basic_economy", "main_cabin", "premium_economy", "business", "first"]
CabinOrAny = Literal["basic_economy", "main_cabin", "premium_economy", "business", "first", "any"]
RebookingType = Literal[
    "voluntary",
    "same_day",
    "irrops_cancellation",
    "irrops_delay",
    "irrops_schedule_change",
    "missed_flight_passenger_fault",
    "missed_connection_airline_fault",
]
SeatPreference = Literal["window", "aisle", "middle", "no_preference"]
MealType = Literal[
    "vegetarian",
    "vegan",
    "kosher",
    "halal",
    "gluten_free",
    "diabetic",
    "low_sodium",
    "child",
    "hindu",
    "none",
    "standard",
]
CreditReason = Literal[
    "cancellation_non_refundable",
    "fare_difference_negative",
    "service_recovery",
    "goodwill",
    "downgrade_compensation",
]
VoucherReason = Literal[
    "delay_over_2_hours", "delay_over_4_hours", "cancellation_wait_same_day", "irrops_overnight"
]
RefundType = Literal["full_fare", "partial_fare", "taxes_only", "ancillary_fees"]
CancellationReason = Literal[
    "voluntary",
    "irrops_refund",
    "24_hour_rule",
    "schedule_unacceptable",
    "medical",
    "bereavement",
]

_JOURNEY_RULE = ParameterRule(
    "invalid_journey_id_format", "FL_<flight>_<YYYYMMDD>", "FL_SK621_20260320"
)
_DATE_RULE = ParameterRule("invalid_date_format", "YYYY-MM-DD")
_AIRPORT_RULE = ParameterRule("invalid_airport_code_format", "3-letter airport code", "JFK")
_FARE_CLASS_RULE = ParameterRule("invalid_fare_class")

RULES = {
    "rebooking_type": ParameterRule("invalid_rebooking_type"),
    "new_fare_class": _FARE_CLASS_RULE,
    "fare_class": _FARE_CLASS_RULE,
    "meal_type": ParameterRule("invalid_meal_type"),
    "credit_reason": ParameterRule("invalid_credit_reason"),
    "voucher_reason": ParameterRule("invalid_voucher_reason"),
    "refund_type": ParameterRule("invalid_refund_type"),
    "seat_preference": ParameterRule("invalid_seat_preference"),
    "cancellation_reason": ParameterRule("invalid_cancellation_reason"),
    "confirmation_number": ParameterRule(
        "invalid_confirmation_number_format", "6 alphanumeric characters"
    ),
    "flight_number": ParameterRule(
        "invalid_flight_number_format", "2-3 letters followed by 1-4 digits", "SK621"
    ),
    "flight_date": _DATE_RULE,
    "date": _DATE_RULE,
    "journey_id": _JOURNEY_RULE,
    "new_journey_id": _JOURNEY_RULE,
    "passenger_id": ParameterRule("invalid_passenger_id_format", "PAX<digits>", "PAX001"),
    "passenger_ids": ParameterRule("invalid_passenger_id_format"),
    "origin": _AIRPORT_RULE,
    "destination": _AIRPORT_RULE,
    "num_bags": ParameterRule("invalid_bag_count"),
}
"""How a bad value of each parameter is refused; parameters not listed are `invalid_parameter`."""


class GetReservation(BaseModel):
    """Parameters of `get_reservation`."""

    confirmation_number: ConfirmationNumber
    last_name: Annotated[str, Field(description="Last name the caller gives, to identify them.")]


class GetFlightStatus(BaseModel):
    """Parameters of `get_flight_status`."""

    flight_number: FlightNumber
    flight_date: FlightDate


class GetDisruptionInfo(BaseModel):
    """Parameters of `get_disruption_info`."""

    flight_number: FlightNumber
    date: FlightDate


class SearchRebookingOptions(BaseModel):
    """Parameters of `search_rebooking_options`."""

    origin: Airport
    destination: Airport
    date: FlightDate
    passenger_count: Annotated[
        int, Field(ge=1, description="How many seats are needed, at least 1.")
    ]
    fare_class: Annotated[CabinOrAny, Field(description="Cabin wanted, or `any` for all cabins.")]


class RebookFlight(BaseModel):
    """Parameters of `rebook_flight`."""

    confirmation_number: ConfirmationNumber
    journey_id: BookedJourney
    new_journey_id: FoundJourney
    rebooking_type: Annotated[
        RebookingType,
        Field(
            description="Why it is changed: the caller wants another day (voluntary) or a flight "
            "today (same_day), the airline disrupted it (irrops_...), or it was missed."
        ),
    ]
    waive_change_fee: Annotated[
        bool, Field(description="True if the rules grant this caller the change without a fee.")
    ]
    new_fare_class: Annotated[
        Cabin | None, Field(description="Cabin on the new journey. Leave out to keep the cabin.")
    ] = None
    flight_number: Annotated[
        FlightNumber | None,
        Field(
            description="To change one leg of a connection: the flight number of that leg. Leave "
            "out to change the whole journey, and for a booking of one flight."
        ),
    ] = None


class AddToStandby(BaseModel):
    """Parameters of `add_to_standby`."""

    confirmation_number: ConfirmationNumber
    journey_id: Annotated[
        str,
        Field(
            pattern=_JOURNEY_PATTERN,
            description="Id of the journey to wait for, e.g. FL_SK703_20260325.",
        ),
    ]
    passenger_ids: PassengerIds


_LEG = Field(description="Flight number of the leg it is about. Needed for a seat on a connection.")
_LEG_OR_ALL = Field(
    description="Flight number of the leg it is about. Leave out for all legs of the journey."
)


class AssignSeat(BaseModel):
    """Parameters of `assign_seat`."""

    confirmation_number: ConfirmationNumber
    passenger_id: PassengerId
    journey_id: BookedJourney
    seat_preference: Annotated[
        SeatPreference, Field(description="The kind of seat the caller asked for.")
    ]
    flight_number: Annotated[FlightNumber | None, _LEG] = None


class AddBaggageAllowance(BaseModel):
    """Parameters of `add_baggage_allowance`."""

    confirmation_number: ConfirmationNumber
    journey_id: BookedJourney
    num_bags: Annotated[
        int, Field(ge=0, le=5, description="Checked bags in total, 0 to 5, not bags to add.")
    ]
    flight_number: Annotated[FlightNumber | None, _LEG_OR_ALL] = None


class AddMealRequest(BaseModel):
    """Parameters of `add_meal_request`."""

    confirmation_number: ConfirmationNumber
    passenger_id: PassengerId
    journey_id: BookedJourney
    meal_type: Annotated[MealType, Field(description="The meal; `none` withdraws a request.")]
    flight_number: Annotated[FlightNumber | None, _LEG_OR_ALL] = None


class IssueTravelCredit(BaseModel):
    """Parameters of `issue_travel_credit`."""

    confirmation_number: ConfirmationNumber
    passenger_id: PassengerId
    amount: Money
    credit_reason: Annotated[CreditReason, Field(description="What the credit is for.")]


class IssueHotelVoucher(BaseModel):
    """Parameters of `issue_hotel_voucher`."""

    confirmation_number: ConfirmationNumber
    passenger_id: PassengerId
    num_nights: Annotated[
        int, Field(ge=1, description="Nights to cover; more than 3 need a person's approval.")
    ]


class IssueMealVoucher(BaseModel):
    """Parameters of `issue_meal_voucher`."""

    confirmation_number: ConfirmationNumber
    passenger_id: PassengerId
    voucher_reason: Annotated[
        VoucherReason, Field(description="The disruption it makes up for; it sets the amount.")
    ]


class CancelReservation(BaseModel):
    """Parameters of `cancel_reservation`."""

    confirmation_number: ConfirmationNumber
    journey_id: BookedJourney
    cancellation_reason: Annotated[
        CancellationReason, Field(description="Why it is cancelled; it decides what is paid back.")
    ]


class ProcessRefund(BaseModel):
    """Parameters of `process_refund`."""

    confirmation_number: ConfirmationNumber
    refund_amount: Money
    refund_type: Annotated[RefundType, Field(description="Which part of the price is paid back.")]


class TransferToAgent(BaseModel):
    """Parameters of `transfer_to_agent`."""

    confirmation_number: ConfirmationNumber
    transfer_reason: Annotated[str, Field(description="Why a person has to take over, in short.")]
    issue_summary: Annotated[
        str, Field(description="What the caller wants and what was done so far.")
    ]
