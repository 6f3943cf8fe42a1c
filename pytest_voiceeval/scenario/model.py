"""A scenario: a caller with a goal, an agent, a state of the world, a way to judge the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.declared import DeclaredMembers
from pytest_voiceeval.scenario.parts import (
    Actions,
    NoiseConfig,
    Persona,
    Resources,
    Task,
    join_parts,
)
from pytest_voiceeval.scenario.prompts import GENERAL_PROMPT
from pytest_voiceeval.scenario.saving import save_scenario
from pytest_voiceeval.scoring.signals import SuccessSignal, compute_is_successful

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


__all__ = ["Actions", "NoiseConfig", "Persona", "Resources", "Scenario", "Task"]


class Scenario(DeclaredMembers):
    """Base of all scenarios; subclass it, or a domain's base, and override the eight parts.

    An argument of the constructor becomes an attribute only if the class does not define it: a
    class attribute, property or cached property wins. (Unlike the reference harness, a cached
    property is not evaluated by that check, and a `noise_config` of the class is kept unless one
    is passed.)

    Args:
        noise_config: Noise on what the agent hears; the one argument that beats the class.
        name: `<domain>__<id>`, unique among all scenarios.
        description: One or two sentences for people.
        max_duration: Seconds the conversation may take; None leaves it to the run.
        reference_answer: What the agent must have recorded or handed in.
        ignore_capitalization: Compare texts of actions without regard to case.
        ignore_punctuation: The same for punctuation.
        clean_text: The same for spoken forms.
        disallow_extra_items: Recorded actions beyond the reference count as a mismatch.
        expected_scenario_db: The agent's database as it must be at the end.
        nl_assertions: Statements for the LLM judge to check.
        db_state_assertions: Predicates to evaluate on the final databases.
        initialization_actions: Changes to the initial databases, each with its `side`.
        expected_user_db: The caller's database as it must be at the end.

    Attributes:
        domain: Namespace of tools, predicates and initialization functions.
        success_signals: The signals that decide; every applicable one must pass.
        reference_dialogue: A conversation that passes, for the scripted model.
        forbidden_calls: Calls a careless agent might make: `--agent-fault extra-write` makes them.
            They are no verdict of their own; what they write shows in the final state.
        spelled_fields: Keys of the database, of arguments and of results of tools whose values are
            identifiers, to be said one character at a time. How often an agent does not is shown
            with a call, see `docs/scoring.md`.
        unspoken_fields: Keys whose values are internal identifiers, never to be said.
        reference_file: Name under which `save` writes the reference answer.
        general_prompt: Closing guidance of both personas.
    """

    domain: str = "default"
    success_signals: Sequence[SuccessSignal] | None = None
    spelled_fields: Collection[str] = ()
    unspoken_fields: Collection[str] = ()

    name: str
    noise_config: NoiseConfig | dict[str, Any] | None
    reference_file: str
    general_prompt: str
    ignore_capitalization: bool
    ignore_punctuation: bool
    clean_text: bool
    disallow_extra_items: bool

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a scenario, that is, a class with a `name`, that nothing could decide."""
        super().__init_subclass__(**kwargs)
        signals: Any = cls.success_signals
        if "name" in cls.__dict__ and (not signals or isinstance(signals, str)):
            raise TypeError(
                f"{cls.__name__}: success_signals must be a non-empty tuple of SuccessSignal "
                f"members, such as (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT); got "
                f"{signals!r}"
            )

    def __init__(
        self,
        *,
        noise_config: NoiseConfig | dict[str, Any] | None = None,
        name: str | None = None,
        description: str | None = None,
        max_duration: float | None = None,
        reference_answer: Any = None,
        ignore_capitalization: bool = False,
        ignore_punctuation: bool = False,
        clean_text: bool = False,
        disallow_extra_items: bool = False,
        expected_scenario_db: dict[str, Any] | None = None,
        nl_assertions: Sequence[str] | None = None,
        db_state_assertions: Sequence[Mapping[str, Any]] | None = None,
        initialization_actions: Sequence[Mapping[str, Any]] | None = None,
        expected_user_db: dict[str, Any] | None = None,
    ) -> None:
        given = {key: value for key, value in locals().items() if key != "self"}
        if noise_config is not None:
            self.noise_config = noise_config
        self._set_missing(
            **given, general_prompt=GENERAL_PROMPT, reference_file="reference_answer.json"
        )

    def _set_missing(self, **values: Any) -> None:
        # asking the class, not the instance, leaves cached properties unevaluated
        for key, value in values.items():
            if key not in vars(self) and not hasattr(type(self), key):
                setattr(self, key, value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self, 'name', None)}>"

    @property
    def short_name(self) -> str:
        """The name without its domain: what stands after the first `__`."""
        return self.name.partition("__")[2] or self.name

    @property
    def user_persona(self) -> Persona:
        """Who calls."""
        raise self._not_given("user_persona")

    @property
    def agent_persona(self) -> Persona:
        """Who answers."""
        raise self._not_given("agent_persona")

    @property
    def user_task(self) -> Task:
        """What the caller wants."""
        raise self._not_given("user_task")

    @property
    def agent_task(self) -> Task:
        """What the agent is there for."""
        raise self._not_given("agent_task")

    @property
    def user_actions(self) -> Actions:
        """How the caller goes about it."""
        raise self._not_given("user_actions")

    @property
    def agent_actions(self) -> Actions:
        """How the agent goes about it."""
        raise self._not_given("agent_actions")

    @property
    def user_resources(self) -> Resources:
        """What the caller has at hand."""
        raise self._not_given("user_resources")

    @property
    def agent_resources(self) -> Resources:
        """What the agent has at hand, its tools above all."""
        raise self._not_given("agent_resources")

    def _not_given(self, member: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} does not define {member}; set it as a class attribute or "
            "property of the scenario"
        )

    def get_user_prompt(self) -> str:
        """Return the caller's system prompt."""
        persona = self.user_persona.to_prompt(self.general_prompt)
        parts = (self.user_task, self.user_actions, self.user_resources)
        return join_parts(persona, *(part.to_prompt() for part in parts))

    def get_agent_prompt(self) -> str:
        """Return the agent's system prompt."""
        persona = self.agent_persona.to_prompt(self.general_prompt)
        parts = (self.agent_task, self.agent_actions, self.agent_resources)
        return join_parts(persona, *(part.to_prompt() for part in parts))

    def get_user_tools(self) -> str:
        """Return the caller's tools as JSON text `{name: {argument: value}}`."""
        return self.user_resources.to_tools_json_string()

    def get_agent_tools(self) -> str:
        """Return the agent's tools as JSON text `{name: {argument: value}}`."""
        return self.agent_resources.to_tools_json_string()

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        """Put into `state` what the bot of `side` (`user` or `agent`) starts from.

        `db` is the database itself; `db_path` is its path below the data root, which the bot
        loads. Any other key is handed to the tools as it is. The default adds nothing.
        """

    def sync_state(self, agent_db: dict[str, Any], user_db: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - for overriding
        """Return the changes each side must see of the other, as `{"agent": {}, "user": {}}`.

        Keys are dotted paths, or what the domain's sync applier understands.
        """
        return {"agent": {}, "user": {}}

    def compute_is_successful(self, signals: Mapping[str, bool | None]) -> bool | str:
        """Combine the verdicts of a call: True, False, or "N/A" when none of ours applies.

        Raises:
            ValueError: this scenario has no signals, or one that does not exist.
        """
        return compute_is_successful(self.success_signals or (), signals)

    def save(self, output_dir: str | Path) -> None:
        """Write prompts, tools, reference answer and metadata into `output_dir`."""
        save_scenario(self, Path(output_dir))
