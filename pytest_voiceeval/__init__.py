"""Test voice agents with pytest.

Everything public is importable from here and resolved on first use, so that importing the
package costs nothing in test runs that make no calls.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_voiceeval.bots.endpoint import Bot as Bot
    from pytest_voiceeval.call.result import CallResult as CallResult
    from pytest_voiceeval.call.result import Verdict as Verdict
    from pytest_voiceeval.data.artifacts import load_db_artifact as load_db_artifact
    from pytest_voiceeval.data.artifacts import load_yaml as load_yaml
    from pytest_voiceeval.data.errors import DataError as DataError
    from pytest_voiceeval.data.errors import MissingData as MissingData
    from pytest_voiceeval.data.fingerprint import fingerprint as fingerprint
    from pytest_voiceeval.data.json_text import parse_json as parse_json
    from pytest_voiceeval.data.json_text import read_json as read_json
    from pytest_voiceeval.data.json_text import read_text as read_text
    from pytest_voiceeval.data.root import data_root_of as data_root_of
    from pytest_voiceeval.data.root import get_eval_data_root as get_eval_data_root
    from pytest_voiceeval.data.root import shipped_data_root as shipped_data_root
    from pytest_voiceeval.judge.llm_judge import LLMJudge as LLMJudge
    from pytest_voiceeval.judge.numbers import (
        validate_judge_numeric_options as validate_judge_numeric_options,
    )
    from pytest_voiceeval.scenario.built import BuiltScenario as BuiltScenario
    from pytest_voiceeval.scenario.built import register_built as register_built
    from pytest_voiceeval.scenario.dialogue import Dialogue as Dialogue
    from pytest_voiceeval.scenario.dialogue import DialogueTurn as DialogueTurn
    from pytest_voiceeval.scenario.dialogue import ToolCall as ToolCall
    from pytest_voiceeval.scenario.dialogue import parse_calls as parse_calls
    from pytest_voiceeval.scenario.dialogue import parse_dialogue as parse_dialogue
    from pytest_voiceeval.scenario.initialization import (
        register_initialization_function as register_initialization_function,
    )
    from pytest_voiceeval.scenario.model import Actions as Actions
    from pytest_voiceeval.scenario.model import NoiseConfig as NoiseConfig
    from pytest_voiceeval.scenario.model import Persona as Persona
    from pytest_voiceeval.scenario.model import Resources as Resources
    from pytest_voiceeval.scenario.model import Scenario as Scenario
    from pytest_voiceeval.scenario.model import Task as Task
    from pytest_voiceeval.scenario.prompts import (
        END_CONVERSATION_GUIDELINE as END_CONVERSATION_GUIDELINE,
    )
    from pytest_voiceeval.scenario.prompts import (
        EXECUTION_HONESTY_GUIDELINE as EXECUTION_HONESTY_GUIDELINE,
    )
    from pytest_voiceeval.scenario.prompts import GENERAL_PROMPT as GENERAL_PROMPT
    from pytest_voiceeval.scenario.prompts import VOICE_ALPHANUMERIC_RULE as VOICE_ALPHANUMERIC_RULE
    from pytest_voiceeval.scenario.prompts import with_spelling as with_spelling
    from pytest_voiceeval.scenario.records import Record as Record
    from pytest_voiceeval.scenario.records import RecordScenario as RecordScenario
    from pytest_voiceeval.scenario.records import register_records as register_records
    from pytest_voiceeval.scenario.registry import DomainInfo as DomainInfo
    from pytest_voiceeval.scenario.registry import get_eval_scenario as get_eval_scenario
    from pytest_voiceeval.scenario.registry import list_eval_scenarios as list_eval_scenarios
    from pytest_voiceeval.scenario.registry import register_domain_info as register_domain_info
    from pytest_voiceeval.scenario.registry import register_eval_scenario as register_eval_scenario
    from pytest_voiceeval.scenario.registry import (
        register_scenario_factory as register_scenario_factory,
    )
    from pytest_voiceeval.scenario.sync import register_sync_applier as register_sync_applier
    from pytest_voiceeval.scoring.assertions import (
        evaluate_db_state_assertion as evaluate_db_state_assertion,
    )
    from pytest_voiceeval.scoring.assertions import (
        register_db_state_predicate as register_db_state_predicate,
    )
    from pytest_voiceeval.scoring.db_diff import compute_db_diff as compute_db_diff
    from pytest_voiceeval.scoring.db_hash import HASH_EXCLUDED_KEYS as HASH_EXCLUDED_KEYS
    from pytest_voiceeval.scoring.db_hash import (
        ORDER_INDEPENDENT_LIST_FIELDS as ORDER_INDEPENDENT_LIST_FIELDS,
    )
    from pytest_voiceeval.scoring.db_hash import get_dict_hash as get_dict_hash
    from pytest_voiceeval.scoring.db_hash import (
        normalize_for_comparison as normalize_for_comparison,
    )
    from pytest_voiceeval.scoring.matching import check_if_task_success as check_if_task_success
    from pytest_voiceeval.scoring.matching import match_action as match_action
    from pytest_voiceeval.scoring.matching import match_dict as match_dict
    from pytest_voiceeval.scoring.matching import match_item as match_item
    from pytest_voiceeval.scoring.matching import match_list as match_list
    from pytest_voiceeval.scoring.matching import match_str_and_float as match_str_and_float
    from pytest_voiceeval.scoring.matching import (
        normalize_scenario_payload as normalize_scenario_payload,
    )
    from pytest_voiceeval.scoring.signals import SuccessSignal as SuccessSignal
    from pytest_voiceeval.scoring.signals import compute_is_successful as compute_is_successful

_HOMES = {
    "bots.endpoint": ("Bot",),
    "call.result": ("CallResult", "Verdict"),
    "data.artifacts": ("load_db_artifact", "load_yaml"),
    "data.errors": ("DataError", "MissingData"),
    "data.fingerprint": ("fingerprint",),
    "data.json_text": ("parse_json", "read_json", "read_text"),
    "data.root": ("data_root_of", "get_eval_data_root", "shipped_data_root"),
    "judge.llm_judge": ("LLMJudge",),
    "judge.numbers": ("validate_judge_numeric_options",),
    "scenario.built": ("BuiltScenario", "register_built"),
    "scenario.dialogue": ("Dialogue", "DialogueTurn", "ToolCall", "parse_calls", "parse_dialogue"),
    "scenario.initialization": ("register_initialization_function",),
    "scenario.model": ("Actions", "NoiseConfig", "Persona", "Resources", "Scenario", "Task"),
    "scenario.prompts": (
        "END_CONVERSATION_GUIDELINE",
        "EXECUTION_HONESTY_GUIDELINE",
        "GENERAL_PROMPT",
        "VOICE_ALPHANUMERIC_RULE",
        "with_spelling",
    ),
    "scenario.records": ("Record", "RecordScenario", "register_records"),
    "scenario.registry": (
        "DomainInfo",
        "get_eval_scenario",
        "list_eval_scenarios",
        "register_domain_info",
        "register_eval_scenario",
        "register_scenario_factory",
    ),
    "scenario.sync": ("register_sync_applier",),
    "scoring.assertions": ("evaluate_db_state_assertion", "register_db_state_predicate"),
    "scoring.db_diff": ("compute_db_diff",),
    "scoring.db_hash": (
        "HASH_EXCLUDED_KEYS",
        "ORDER_INDEPENDENT_LIST_FIELDS",
        "get_dict_hash",
        "normalize_for_comparison",
    ),
    "scoring.matching": (
        "check_if_task_success",
        "match_action",
        "match_dict",
        "match_item",
        "match_list",
        "match_str_and_float",
        "normalize_scenario_payload",
    ),
    "scoring.signals": ("SuccessSignal", "compute_is_successful"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
