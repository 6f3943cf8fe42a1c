"""Registering and finding scenarios, with and without packs."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from pytest_voiceeval.packs import PackError
from pytest_voiceeval.scenario import registry
from pytest_voiceeval.scenario.registry import (
    BadScenarioName,
    DomainInfo,
    DuplicateScenario,
    UnknownDomain,
    UnknownScenario,
    register_eval_scenario,
    register_scenario_factory,
)

PREAMBLE = """
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scenario.registry import register_eval_scenario
from pytest_voiceeval.scoring.signals import SuccessSignal

class Base(Scenario):
    success_signals = (SuccessSignal.CLEAN_EXIT,)
"""


def _scenario(name: str, base: str = "Base") -> str:
    return f"\n@register_eval_scenario\nclass {name.title()}({base}):\n    name = {name!r}\n"


class TestClasses:
    def test_a_class_is_found_by_its_name(self, fresh_registry, shop):
        @register_eval_scenario
        class Lamp(shop):
            name = "shop__lamp"

        scenario = fresh_registry.get_eval_scenario("shop__lamp", max_duration=9)
        assert (type(scenario), scenario.max_duration) == (Lamp, 9)
        assert fresh_registry.list_eval_scenarios() == ["shop__lamp"]
        assert fresh_registry.domain_of("shop__lamp") == "shop"

    def test_without_a_name_the_class_s_own_counts(self, fresh_registry, shop):
        @register_eval_scenario
        class Nameless(shop):
            domain = "shop"

        assert fresh_registry.get_eval_scenario("Nameless").name == "Nameless"
        assert fresh_registry.domain_of("Nameless") == "shop"

    def test_its_place_is_the_decorator(self, fresh_registry, shop):
        line = sys._getframe().f_lineno + 2

        @register_eval_scenario
        class Placed(shop):
            name = "shop__placed"

        assert fresh_registry.location_of("shop__placed") == (Path(__file__), line)

    @pytest.mark.parametrize("thing", [int, "text", None], ids=repr)
    def test_only_scenarios_are_taken(self, fresh_registry, thing):
        with pytest.raises(ValueError, match="is not a subclass of Scenario"):
            register_eval_scenario(thing)

    def test_an_unknown_name_gives_none(self, fresh_registry):
        assert fresh_registry.get_eval_scenario("shop__nothing") is None

    @pytest.mark.parametrize("name", ["", " ", "x" * 201, "shop__a\nb", "shop__end ", "shop__\x7f"])
    def test_a_name_that_cannot_be_typed_is_refused(self, fresh_registry, shop, name):
        scenario_class = type("Odd", (shop,), {"name": name})
        with pytest.raises(
            BadScenarioName, match=r"test_registry\.py:\d+\) cannot be used: it has"
        ):
            register_eval_scenario(scenario_class)

    def test_a_name_without_anything_after_the_domain_is_refused(self, fresh_registry, shop):
        scenario_class = type("Odd", (shop,), {"name": "shop__"})
        with pytest.raises(BadScenarioName, match=r"\.py:\d+\) has nothing after the domain"):
            register_eval_scenario(scenario_class)

    @pytest.mark.parametrize("name", ["a/b__c", "../x__c", "a::b__c", "my shop__c"])
    def test_a_domain_that_cannot_be_a_folder_is_refused(self, fresh_registry, shop, name):
        scenario_class = type("Odd", (shop,), {"name": name})
        with pytest.raises(BadScenarioName, match="a domain has only letters, digits"):
            register_eval_scenario(scenario_class)

    @pytest.mark.parametrize(
        "name",
        [
            "shop__été",
            "shop__1_1_3",
            "qa__what-is.this",
            "fastbite",
            "shop__a/b::c [d]",
            "shop__..",
        ],
    )
    def test_ordinary_and_odd_names_are_taken(self, fresh_registry, shop, name):
        register_eval_scenario(type("Good", (shop,), {"name": name}))
        assert fresh_registry.list_eval_scenarios() == [name]


class TestFactories:
    def test_a_record_without_a_class(self, fresh_registry, shop):
        def make(**kwargs):
            return shop(name="shop__7", **kwargs)

        register_scenario_factory("shop__7", "shop", make, (Path("data.jsonl"), 7))
        assert fresh_registry.scenarios_of("shop") == ["shop__7"]
        assert fresh_registry.location_of("shop__7") == (Path("data.jsonl"), 7)
        assert fresh_registry.get_eval_scenario("shop__7", max_duration=3).max_duration == 3

    def test_its_place_is_the_call_by_default(self, fresh_registry, shop):
        register_scenario_factory("shop__8", "shop", shop)
        assert fresh_registry.location_of("shop__8")[0] == Path(__file__)

    def test_many_are_registered_quickly_and_in_order(self, fresh_registry, shop):
        names = [f"bulk__{n}" for n in range(2000)]
        for name in names:
            register_scenario_factory(name, "bulk", shop)
        assert fresh_registry.scenarios_of("bulk") == names


class TestDuplicates:
    def test_both_places_are_named(self, fresh_registry, shop):
        register_scenario_factory("shop__x", "shop", shop, (Path("one.jsonl"), 1))
        with pytest.raises(
            DuplicateScenario, match=r"two scenarios are named 'shop__x': one\.jsonl:1 and two"
        ):
            register_scenario_factory("shop__x", "shop", shop, (Path("two.jsonl"), 2))

    def test_one_short_name_in_one_domain(self, fresh_registry, shop):
        register_scenario_factory("shop__x", "shop", shop)
        with pytest.raises(DuplicateScenario, match="'shop__x' and 'x'"):
            register_scenario_factory("x", "shop", shop)
        register_scenario_factory("other__x", "other", shop)

    def test_what_a_replaced_module_registered_does_not_stand_in_the_way(self, fresh_registry):
        first, second = (self._module() for _ in range(2))
        try:
            for module in (first, second):
                sys.modules[module.__name__] = module
                exec(compile(PREAMBLE + _scenario("shop__x"), "m.py", "exec"), vars(module))
            assert fresh_registry.scenarios_of("shop") == ["shop__x"]
            assert type(fresh_registry.get_eval_scenario("shop__x")) in vars(second).values()
        finally:
            del sys.modules[second.__name__]
        assert fresh_registry.list_eval_scenarios() == []

    @staticmethod
    def _module() -> types.ModuleType:
        return types.ModuleType("a_module_imported_twice")


class TestPacks:
    def test_a_pack_is_loaded_when_its_domain_is_asked_for(self, user_pack):
        user_pack(
            "reg_lazy", __init__=PREAMBLE + _scenario("reg_lazy__b") + _scenario("reg_lazy__a")
        )
        assert "pytest_voiceeval.packs.reg_lazy" not in sys.modules
        assert registry.scenarios_of("reg_lazy") == ["reg_lazy__b", "reg_lazy__a"]

    def test_a_pack_is_loaded_when_a_scenario_is_asked_for(self, user_pack):
        folder = user_pack("reg_one", __init__=PREAMBLE + _scenario("reg_one__a"))
        assert registry.get_eval_scenario("reg_one__a").short_name == "a"
        assert registry.location_of("reg_one__a")[0] == folder / "__init__.py"
        assert registry.domain_of("reg_one__a") == "reg_one"

    def test_a_name_without_domain_belongs_to_the_pack(self, user_pack):
        user_pack("reg_bare", __init__=PREAMBLE + _scenario("fast_bite_x"))
        assert registry.scenarios_of("reg_bare") == ["fast_bite_x"]
        assert registry.require_scenario_name("reg_bare__fast_bite_x") == "fast_bite_x"
        assert registry.require_scenario_name("fast_bite_x") == "fast_bite_x"

    def test_scenarios_in_several_modules_keep_their_order(self, user_pack):
        user_pack(
            "reg_parts",
            __init__="from . import first, second\n",
            base=PREAMBLE,
            first="from .base import Base, register_eval_scenario\n" + _scenario("reg_parts__1"),
            second="from .base import Base, register_eval_scenario\n" + _scenario("reg_parts__2"),
        )
        assert registry.scenarios_of("reg_parts") == ["reg_parts__1", "reg_parts__2"]

    @pytest.mark.parametrize(
        ("code", "text"),
        [
            (
                "\nclass Bad(Scenario):\n    name = 'reg_bad__x'\n",
                r"__init__\.py:\d+\): TypeError: Bad: success_signals must be a non-empty tuple",
            ),
            (
                _scenario("reg_bad__x") + _scenario("reg_bad__x"),
                (
                    r"DuplicateScenario: two scenarios are named 'reg_bad__x': "
                    r"\S+__init__\.py:13 and \S+__init__\.py:17"
                ),
            ),
            (
                _scenario("elsewhere__x"),
                r"'elsewhere__x' .* in the pack 'reg_bad', so its name must begin with 'reg_bad__'",
            ),
        ],
        ids=["no signals", "one name twice", "another domain's name"],
    )
    def test_a_broken_pack_is_one_clear_error_and_others_load(self, user_pack, code, text):
        user_pack("reg_bad", __init__=PREAMBLE + _scenario("reg_bad__fine") + code)
        user_pack("reg_good", __init__=PREAMBLE + _scenario("reg_good__x"))
        for ask in (registry.scenarios_of, registry.domain_info):
            with pytest.raises(PackError, match=text):
                ask("reg_bad")
        names = registry.list_eval_scenarios()
        assert "reg_good__x" in names
        assert [name for name in names if name.startswith("reg_bad")] == []
        assert any("reg_bad" in str(error) for error in registry.load_all_packs())

    def test_one_file_under_two_names_is_explained(self, user_pack, monkeypatch, tmp_path):
        user_pack(
            "reg_two_names",
            __init__="import reg_two_names.base\nfrom . import base\n",
            base=PREAMBLE + _scenario("reg_two_names__x"),
        )
        monkeypatch.syspath_prepend(tmp_path / "scenarios")
        with pytest.raises(PackError, match="imported under two names: use relative imports"):
            registry.scenarios_of("reg_two_names")
        for name in ("reg_two_names", "reg_two_names.base"):
            sys.modules.pop(name, None)

    def test_a_pack_may_tell_its_edition(self, user_pack):
        code = (
            "from pytest_voiceeval.scenario.registry import DomainInfo, register_domain_info\n"
            "register_domain_info('reg_info', lambda: DomainInfo('ours', 'abc', '/data'))\n"
        )
        user_pack("reg_info", __init__=code)
        user_pack("reg_no_info", __init__="")
        assert registry.domain_info("reg_info") == DomainInfo("ours", "abc", "/data")
        assert registry.domain_info("reg_no_info") is None


class TestNames:
    @pytest.fixture
    def names(self, fresh_registry, shop):
        for name in ("shop__lamp", "shop__table", "cafe__table", "cafe__tea"):
            register_scenario_factory(name, name.split("__")[0], shop)
        return fresh_registry

    @pytest.mark.parametrize(
        ("text", "name"),
        [("shop__lamp", "shop__lamp"), ("lamp", "shop__lamp"), ("tea", "cafe__tea")],
    )
    def test_a_full_or_a_unique_short_name(self, names, text, name):
        assert names.require_scenario_name(text) == name

    @pytest.mark.parametrize(
        ("text", "error", "says"),
        [
            ("table", UnknownScenario, "several scenarios are named 'table': shop__table, cafe__t"),
            (
                "shop__lmap",
                UnknownScenario,
                "no scenario named 'shop__lmap'; did you mean 'shop__la",
            ),
            ("lamb", UnknownScenario, "did you mean 'shop__lamp'"),
            ("shop__zzz", UnknownScenario, "`voiceeval list shop` shows the scenarios"),
            ("sohp__lamp", UnknownDomain, "no domain named 'sohp'; did you mean 'shop'?"),
        ],
        ids=["ambiguous", "typo", "typo in a short name", "nothing close", "typo in the domain"],
    )
    def test_anything_else_names_the_closest(self, names, text, error, says):
        with pytest.raises(error, match=says):
            names.require_scenario_name(text)

    def test_an_unknown_domain_names_the_closest(self, names):
        with pytest.raises(UnknownDomain, match=r"no domain named 'cafee'; did you mean 'cafe'\?"):
            names.scenarios_of("cafee")
        with pytest.raises(UnknownDomain, match="known domains: cafe, shop"):
            names.scenarios_of("zzzzzz")

    def test_places_and_domains_of_unknown_names(self, names):
        for ask in (names.location_of, names.domain_of):
            with pytest.raises(UnknownScenario, match="did you mean 'cafe__tea'"):
                ask("cafe__te")
