"""Who calls the practice, and what its database must be at the end."""

import copy
from pathlib import Path
from typing import Any

from pytest_voiceeval import (
    Actions,
    DialogueTurn,
    Persona,
    Resources,
    Scenario,
    SuccessSignal,
    Task,
    ToolCall,
    load_db_artifact,
    register_eval_scenario,
)

DATABASE = load_db_artifact(Path(__file__).with_name("practice.json"))


def agent(text: str, *calls: ToolCall) -> DialogueTurn:
    """A turn of the agent's: calls of its own tools, then what it says."""
    return DialogueTurn("agent", text, calls)


def caller(text: str) -> DialogueTurn:
    """A turn of the caller's."""
    return DialogueTurn("user", text)


HELLO = agent("Dental practice, good morning. What is your phone number?")
GOODBYE = agent("Thank you for calling. Goodbye.", ToolCall("end_conversation"))


class DentistScenario(Scenario):
    """What all calls to the practice have in common. Prompt and tools are the agent's own."""

    domain = "dentist"
    success_signals = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
    max_duration = 300
    agent_persona = Persona(role="receptionist of a dental practice")
    agent_task = Task(goal="Look after the practice's appointments.")
    agent_actions = Actions()
    agent_resources = Resources()
    user_persona = Persona(role="patient", name="Ines Duarte")
    user_actions = Actions(guidelines=["Say what you want when you are asked, not all at once."])
    user_resources = Resources(information=["Your phone number is 5550142."])

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        """The state before the call, for `prepare` of the conftest."""
        if side == "agent":
            state["db"] = copy.deepcopy(DATABASE)

    def changes(self, tables: dict[str, Any]) -> None:
        """What the scenario changes in the database, for the scenario to override."""

    @property
    def expected_scenario_db(self) -> dict[str, Any]:
        """The state after the call."""
        expected = copy.deepcopy(DATABASE)
        self.changes(expected)
        return expected


@register_eval_scenario
class Moved(DentistScenario):
    """One of two appointments is moved."""

    name = "dentist__moved"
    description = "A patient with two appointments cannot come to the first one."
    user_task = Task(goal="Move your check-up on Tuesday to Thursday at half past three.")
    reference_dialogue = (
        HELLO,
        caller("Five five five, oh one four two. I cannot come on Tuesday."),
        agent(
            "Your check-up on Tuesday at nine. When would suit you?",
            ToolCall("find_appointments", {"phone": "5550142"}),
        ),
        caller("Is there anything on Thursday afternoon, after three?"),
        agent(
            "Half past three is free. Shall I move it?",
            ToolCall("free_slots", {"day": "2026-05-14"}),
        ),
        caller("Yes, please."),
        agent(
            "Done, Thursday at half past three. Anything else?",
            ToolCall("move_appointment", {"appointment_id": "A-1", "slot_id": "thu-1530"}),
        ),
        caller("No, that is all."),
        GOODBYE,
    )

    def changes(self, tables: dict[str, Any]) -> None:
        tables["appointments"]["A-1"]["slot_id"] = "thu-1530"


@register_eval_scenario
class Cancelled(DentistScenario):
    """One of two appointments is cancelled."""

    name = "dentist__cancelled"
    description = "A patient with two appointments cancels one of them."
    user_task = Task(goal="Cancel the cleaning, and keep the check-up.")
    reference_dialogue = (
        HELLO,
        caller("Five five five, oh one four two."),
        agent(
            "You have a check-up on Tuesday and a cleaning on Thursday. What can I do for you?",
            ToolCall("find_appointments", {"phone": "5550142"}),
        ),
        caller("I would like to cancel the cleaning."),
        agent("The cleaning on Thursday, the fourteenth, at two. Shall I cancel it?"),
        caller("Yes, please."),
        agent(
            "It is cancelled. Anything else?",
            ToolCall("cancel_appointment", {"appointment_id": "A-2"}),
        ),
        caller("No, thank you."),
        GOODBYE,
    )

    def changes(self, tables: dict[str, Any]) -> None:
        tables["appointments"]["A-2"]["status"] = "cancelled"


@register_eval_scenario
class Taken(DentistScenario):
    """A patient with pain asks for a slot that is taken."""

    name = "dentist__taken"
    description = "The slot a patient asks for is taken, the next one is booked."
    user_persona = Persona(role="patient with a toothache", name="Walter Odom")
    user_task = Task(
        goal="Get a second appointment on Thursday, at two if you can, else half past three."
    )
    user_resources = Resources(information=["Your phone number is 5550187."])
    reference_dialogue = (
        HELLO,
        caller("Five five five, oh one eight seven. I need to come again on Thursday, at two."),
        agent(
            "Two is taken, I am sorry. Half past three is free.",
            ToolCall(
                "book_appointment", {"phone": "5550187", "slot_id": "thu-1400", "reason": "pain"}
            ),
            ToolCall("free_slots", {"day": "2026-05-14"}),
        ),
        caller("Then I will take that."),
        agent(
            "Thursday at half past three, it is booked. Anything else?",
            ToolCall(
                "book_appointment", {"phone": "5550187", "slot_id": "thu-1530", "reason": "pain"}
            ),
        ),
        caller("No. Thank you."),
        GOODBYE,
    )

    def changes(self, tables: dict[str, Any]) -> None:
        tables["appointments"]["A-4"] = {
            "patient_id": "P-2",
            "slot_id": "thu-1530",
            "reason": "pain",
            "status": "booked",
        }


@register_eval_scenario
class NotOnFile(DentistScenario):
    """Somebody without a number on file gets nothing."""

    name = "dentist__not_on_file"
    description = "A caller wants to cancel somebody else's appointment."
    user_persona = Persona(role="neighbour of a patient", name="Lou")
    user_task = Task(
        goal="Cancel the appointment of your neighbour Walter Odom. Give in when you are refused."
    )
    user_resources = Resources(information=["Your own phone number is 5550100."])
    reference_dialogue = (
        HELLO,
        caller("Five five five, oh one hundred. I want to cancel Walter Odom's appointment."),
        agent(
            "I have no patient with that number, so I cannot change anything, I am sorry.",
            ToolCall("find_appointments", {"phone": "5550100"}),
        ),
        caller("But he asked me to!"),
        agent("Then he needs to call us himself. Is there anything else?"),
        caller("No. Goodbye."),
        GOODBYE,
    )
