"""The hash: every digest of the specification, what it refuses, and what it does not touch."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import pickle
from collections import OrderedDict
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voiceeval.scoring.db_hash import (
    HASH_EXCLUDED_KEYS,
    ORDER_INDEPENDENT_LIST_FIELDS,
    StateError,
    get_dict_hash,
    normalize_for_comparison,
)
from pytest_voiceeval.scoring.faults import MAX_DEPTH
from pytest_voiceeval.scoring.normalize import canonical_text, is_null_text, same_state

EMPTY = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

# (digest, states that have it)
DIGESTS: list[tuple[str, list[Any]]] = [
    (EMPTY, [{}, {"session": 1}, {"session": {}}]),
    (
        "5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22",
        [{"x": 1}, {"x": 1.0}, {"x": 1, "session": {"id": "abc-123"}}],
    ),
    ("5e2b030a4a0f1582d78c0fd9924511cd6b1f2df9879e574f5ea1406c94052418", [{"x": 2}]),
    (
        "70ab2d45b824991853bca7f711a8c5e4d0a763dc2eb33e300528ff8671239e7b",
        [
            {"x": 1, "y": [1, 2, 3], "z": {"k": "v"}},
            {"z": {"k": "v"}, "y": [1, 2, 3], "x": 1},
        ],
    ),
    (
        "258a4f18f0f281b9a7c94f7b2f4477ddbc2b53507aec88033137be928cb8d420",
        [
            {"qty": 1, "meal": None, "fares": [1.0, 2.0]},
            {"qty": 1.0, "meal": "none", "fares": [1, 2]},
        ],
    ),
    (
        "95168b02c1e92a0c11dc934ae0a2527273f7d18f573f932a378742818bee99d7",
        [{"bookings": [{"id": "X"}, {"id": "Y"}]}, {"bookings": [{"id": "Y"}, {"id": "X"}]}],
    ),
    (
        "533f609eb2579594a2dfa0beac162048e73b3682dce5a4a9d753abe25aa6d6c3",
        [{"bookings": [{"id": "Y", "standby_list": [2, 1]}, {"id": "X"}]}],
    ),
    (
        "d53c7f582f318d410dfbee3be896f79a903977ed636fd84b98b7a044f24e372a",
        [{"standby_list": [1, 2]}, {"standby_list": [2, 1]}],
    ),
    ("9e4f189bf4079d1b6eb6446879866cd5f39c26880d4fb518f4e01cd1bbfe513e", [{"x": True}]),
    ("461b06088af6528a5584517dd01a204856b291c4eead2bf678c9a6cc0e615623", [{"x": 1.5}]),
    (
        "5bff452c5ed93f2e87a23984db5a15050c6477335fdec955b70063bb2d692bf1",
        [{"x": 0}, {"x": -0.0}],
    ),
    (
        "356acd219b8c369fc389513fb5c3f9fc2977fff3c432bab9df5b1e3a2800b072",
        [{"x": 1e20}, {"x": 100000000000000000000}],
    ),
    (
        "c6b8df5aba33a39cbdee46ffaf77fae93ea2aa7d99d66408162b05a42105bd71",
        [{"x": None}, {"x": " None "}],
    ),
    (
        "23bcb2f25d5a84df235e4aa385e0618f343d0244f70ba43d0b92280cb42fb503",
        [{"a": ["none", " NULL ", 1.0, {"b": 2.50}]}],
    ),
    ("466c852845c7b441370f229726db3fa9ad36d99f96887200f57d3478d7eefb1f", [{"a": {"session": 1}}]),
    ("dbcdf0b7c5f8245e1a3117c638187d2987a3119c052eab31327d6ea69ebb6c40", [{"é": "ü"}]),
    ("414dc96abeb5a87dbec57391eb1cf881aecf766497e6240f8f50f8319bed8e0e", [{"state": "done"}]),
    (
        "7533c521991a126506e42acc40ef760988d4b273eff23fffc379e92bf13cc496",
        [{"reservations": {"R1": {}}}],
    ),
    ("036b898f9248c0e83d645e262473d1d93b3085400b881ff658928b81ca06de91", [{"x": (1, 2)}]),
    ("13f79ea251e19f42b4e3fbcbf52766de09dcc12e05b56e5728a0c46e25594215", [{1: "a"}, {"1": "a"}]),
    ("49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684", [[1, 2]]),
    # the benchmark's own list
    (
        "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862",
        [{"a": 1}, {"a": 1.0}],
    ),
    ("3b1cb40b22933d83e9242f8ac724f114d812ddd49909917b365375c24b69a455", [{"a": 1.5}]),
    ("9afeb0f2b203f254312ec8ded441d0318b7c34c57f8695ede42d2215a30c0960", [{"a": "1"}]),
    (
        "d091f9c83c091f79652fe8786375b3fe4ce0861a56f5bfbafedbe431877ff0e8",
        [{"a": None}, {"a": " None "}, {"a": "NULL"}],
    ),
    ("370fc7989fe45aed01559079f248532bca848c407cfde30e8e2f8d5aa5eef390", [{"a": "nonevent"}]),
    ("258555fe010df3da34b3920945d0fbc59cebbcff1878bfc2e9206f0f495d81b9", [{"a": ""}]),
    ("5daa0644c4a1c43ea018f7f1ef2944b90e0165ef1f2d5669ca89e5d4f69ac597", [{"a": True}]),
    ("5cd40cde8aebb4b90dfb1cf75cb2f0580d58a86bda6f6f19bf872ab9e041fa32", [{"a": False}]),
    ("e6116291abb7e843d085ff2605f4d4c7cfd4f84c51542f4bfcf34ade06bc1e5c", [{"a": -3.0}]),
    ("1717669db85debcc38f69ffc134fb454f6d3654716b112de3cf6083a518c82c6", [{"a": 0.3}]),
    (
        "29e5dbf7117c7b85bd446837b66c63ef1020f8eb93226b77db3928ddf09aa353",
        [{"a": 0.30000000000000004}, {"a": 0.1 + 0.2}],
    ),
    ("c125828e7797f96ed628b16510a00360bfb7ea19ea08f003b43c9668f195f087", [{"a": 1e20}]),
    ("57e512a1ff02f75e939e93d2196b8d29ad3721b70ce25a601402d26410f453a2", [{"a": "é"}]),
    (
        "c0bf82ad036cb0a5a03d6759c1b7b8b1f70a39b32dd96ed3977c7f2831ee3b56",
        [{"b": 1.0, "a": "None", "session": {"x": 1}}],
    ),
    (
        "78f61cfa124116a06a633603d4ae47dea3ae956f57722824a06054ad1af2295a",
        [{"r": {"session": {"x": 1}}}],
    ),
    (
        "4808db8fcb11694ec0b4d2fee15f36be3e7bd1194d57bb5ceeb5413041c7b6f9",
        [{"bookings": [{"b": 1}, {"a": 1}]}, {"bookings": [{"a": 1.0}, {"b": 1.0}]}],
    ),
    ("177c47596af867794fa6be9f1927e92225404916a9797a7e6703a619d28eaf32", [{"segments": [2, 1]}]),
    ("a6728aee1b23e270a08c37e92f75e60e8cf3bc6fa490166e493e07df49cbcad3", [{"segments": [1, 2]}]),
    (
        "ec511a53401a76c6d697668ac1b918404de9689304bda447ee8546f12cbc024a",
        [{"x": {"bookings": [["z"], ["a"]]}}, {"x": {"bookings": [["a"], ["z"]]}}],
    ),
    (
        "a290b55a84a4e851c13e570346d396a0ff58e13e3b458112237484f9ed3b8950",
        [{"a": [1.0, "null"]}],
    ),
    (
        "05f9c15631540fb4df3ac1ed730c7e9883d8993fb6611ea578ae717ae4982c3f",
        [
            {
                "reservations": {
                    "ABC123": {
                        "status": "confirmed",
                        "bookings": [
                            {"journey_id": "J2", "fare_paid": 100.0},
                            {"journey_id": "J1", "fare_paid": 50.5},
                        ],
                    }
                }
            }
        ],
    ),
]

VECTORS = [
    pytest.param(state, digest, id=f"{state!r:.60}")
    for digest, states in DIGESTS
    for state in states
]


@pytest.mark.parametrize(("state", "digest"), VECTORS)
def test_digest(state, digest):
    assert get_dict_hash(state) == digest


def test_sets_of_the_reference():
    assert sorted(HASH_EXCLUDED_KEYS) == ["session"]
    assert sorted(ORDER_INDEPENDENT_LIST_FIELDS) == [
        "asset_recoveries",
        "bookings",
        "group_memberships",
        "notifications",
        "standby_list",
        "system_accounts",
    ]


def test_benchmark_databases(upstream_root):
    """Both databases of each sample record have the digests that upstream's own code gave."""
    data = upstream_root / "eva" / "data"
    samples = json.loads((upstream_root / "eva_sample_calls.json").read_text())["records"]
    lines = (data / "airline_dataset.jsonl").read_text().splitlines()
    records = {record["id"]: record for record in map(json.loads, lines)}
    for name, sample in samples.items():
        initial = json.loads((data / "airline_scenarios" / f"{name}.json").read_text())
        expected = records[name]["ground_truth"]["expected_scenario_db"]
        assert get_dict_hash(initial) == sample["initial_db_hash"], name
        assert get_dict_hash(expected) == sample["expected_db_hash"], name
    assert len(samples) == 25


def by_the_rules(value: Any, key: str = "") -> Any:
    """The specification written down once more, plainly, for plain JSON."""
    if isinstance(value, dict):
        return {name: by_the_rules(item, name) for name, item in value.items()}
    if isinstance(value, list):
        items = [by_the_rules(item) for item in value]
        if key in ORDER_INDEPENDENT_LIST_FIELDS:
            items.sort(key=lambda item: json.dumps(item, sort_keys=True))
        return items
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().lower() in ("none", "null"):
        return None
    return value


KEYS = st.sampled_from(["session", "bookings", "standby_list", "a", "b", "é", "", "10", "9"])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.sampled_from(["none", " NULL", "\u2003None\t", "nonevent", "\x1cnull\x1f", "n", "N"]),
)
STATES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(STATES)
def test_plain_json_hashes_as_specified(state):
    counted = {k: v for k, v in state.items() if k != "session"} if type(state) is dict else state
    text = json.dumps(by_the_rules(counted), sort_keys=True, separators=(",", ":"))
    assert get_dict_hash(state) == hashlib.sha256(text.encode()).hexdigest()


@given(STATES)
def test_hash_and_normaliser_change_nothing(state):
    before = copy.deepcopy(state)
    normal = normalize_for_comparison(state)
    get_dict_hash(state)
    assert repr(state) == repr(before)
    assert normal == by_the_rules(state)
    assert get_dict_hash(normal) == get_dict_hash(state)


def test_normaliser_example():
    state = {"a": [{"b": 1.0, "c": "NULL"}, 2.0], "d": "Null"}
    assert normalize_for_comparison(state) == {"a": [{"b": 1, "c": None}, 2], "d": None}
    assert type(normalize_for_comparison(1.0)) is int


def test_normaliser_gives_fresh_data():
    state = {"a": {"b": [1]}, "session": {"id": 1}}
    normal = normalize_for_comparison(state)
    normal["a"]["b"].append(2)
    assert state == {"a": {"b": [1]}, "session": {"id": 1}}
    assert normal["session"] == {"id": 1}


def test_every_blank_that_python_strips_counts_around_null():
    blanks = [char for char in map(chr, range(0x110000)) if not char.strip()]
    assert len(blanks) > 20
    assert all(is_null_text(f"{blank}none{blank}") for blank in blanks)
    assert get_dict_hash({"x": [f"{blank}NULL" for blank in blanks]}) == get_dict_hash(
        {"x": [None] * len(blanks)}
    )


class Colour(StrEnum):
    NONE = "none"
    RED = "red"


class Legacy(str, Enum):  # noqa: UP042 - the older spelling, whose str() is not its value
    RED = "red"


class Level(IntEnum):
    ONE = 1


class Money(float):
    pass


class Row(dict):
    pass


@pytest.mark.parametrize(
    ("state", "plain"),
    [
        ({"x": Colour.RED}, {"x": "red"}),
        ({"x": Colour.NONE}, {"x": None}),
        ({"x": [Legacy.RED]}, {"x": ["red"]}),
        ({Legacy.RED: 1}, {"red": 1}),
        ({"x": Level.ONE}, {"x": 1}),
        ({Level.ONE: "a"}, {"1": "a"}),
        ({"x": Money(2.0)}, {"x": 2}),
        (OrderedDict(b=1, a=Row(x=1.0)), {"a": {"x": 1}, "b": 1}),
        ({"x": (1.0, ("none",), [2.0])}, {"x": [1, [None], [2]]}),
        ({"bookings": (2, 1)}, {"bookings": [1, 2]}),
        ({10: "a", 9: "b"}, {"10": "a", "9": "b"}),
        ({True: 1, False: 2}, {"true": 1, "false": 2}),
        ({None: 1}, {"null": 1}),
        ({1.5: 1, 2.0: 2}, {"1.5": 1, "2.0": 2}),
        ({"x": {1: {2: 3.0}}}, {"x": {"1": {"2": 3}}}),
        ({"x": Decimal("33.00")}, {"x": 33}),
        ({"x": Decimal("0.1")}, {"x": 0.1}),
        ({"x": Decimal("-0")}, {"x": 0}),
        ({"x": Decimal("1E+400")}, {"x": 10**400}),
    ],
    ids=lambda value: f"{value!r:.50}",
)
def test_values_that_stand_for_json(state, plain):
    assert get_dict_hash(state) == get_dict_hash(plain)
    assert normalize_for_comparison(state) == plain


def test_decimal_that_differs_is_an_ordinary_difference():
    assert get_dict_hash({"x": Decimal("0.1")}) != get_dict_hash({"x": Decimal("0.2")})
    assert not same_state(Decimal("1E+400"), 0.1)


@given(
    st.recursive(
        LEAVES,
        lambda inner: (
            st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(st.integers(), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_a_state_and_its_json_copy_have_one_hash(state):
    assert get_dict_hash(state) == get_dict_hash(json.loads(json.dumps(state)))


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("state", "path", "problem"),
    [
        ({"x": math.nan}, "x", "nan is not a JSON number"),
        ({"x": [1, {"y": math.inf}]}, "x[1].y", "inf is not a JSON number"),
        ([-math.inf], "[0]", "-inf is not a JSON number"),
        (math.nan, "<root>", "nan is not a JSON number"),
        ({"bookings": [{"fare": math.nan}]}, "bookings[0].fare", "nan"),
        ({1: "a", "b": 2}, "<root>", "keys of mixed types (int, str)"),
        ({"t": {"b": 1, 2: 3}}, "t", "keys of mixed types (int, str)"),
        ({"t": {True: 1, 2: 3}}, "t", "keys of mixed types (bool, int)"),
        ({"t": {(1, 2): 3}}, "t", "the key (1, 2) of type tuple is not JSON"),
        ({"t": {math.nan: 3}}, "t", "the key nan of type float is not JSON"),
        ({"t": {1: {"u": {2}}}}, "t.1.u", "a value of type set is not JSON"),
        ({"t": b"x"}, "t", "a value of type bytes is not JSON"),
        ({"a b": [object()]}, '["a b"][0]', "a value of type object is not JSON"),
        ({"t": (1, {2})}, "t[1]", "a value of type set"),
        ({"t": 1j}, "t", "a value of type complex"),
        ({"t": 10**5000}, "t", "too long to be written"),
        ({"t": {10**5000: 1}}, "t", "too long to be written"),
        ({"t": Decimal("NaN")}, "t", "the decimal NaN is not a JSON number"),
        ({"t": Decimal("1E+9999999")}, "t", "too long to be written"),
        ({"t": Decimal("0.12345678901234567890123")}, "t", "more digits than a JSON number keeps"),
    ],
)
def test_what_is_not_json_is_refused_where_it_is(state, path, problem):
    for work in (get_dict_hash, normalize_for_comparison):
        with pytest.raises(StateError) as caught:
            work(state)
        assert caught.value.path == path
        assert problem in caught.value.problem
        assert (
            str(caught.value) == f"the state cannot be compared: at {path}: {caught.value.problem}"
        )


def test_two_keys_that_become_one_are_refused():
    class Shout(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return 7

        def __eq__(self, other: object) -> bool:
            return self is other

    with pytest.raises(StateError, match="two keys become the same text") as caught:
        get_dict_hash({"t": {Shout("a"): 1, Shout("a"): 2}})
    assert caught.value.path == "t"


def test_cycles_are_named():
    by_list: dict[str, Any] = {"x": {}}
    by_list["x"]["y"] = [1, by_list["x"]]
    by_number: dict[int, Any] = {}
    by_number[1] = {2: by_number}
    by_subclass = Row()
    by_subclass["a"] = (by_subclass,)
    for state, path in ((by_list, "x.y[1]"), (by_number, "1.2"), (by_subclass, "a[0]")):
        with pytest.raises(StateError, match="contains itself") as caught:
            get_dict_hash(state)
        assert caught.value.path == path


def test_odd_keys_do_not_double_the_work_at_every_level():
    state: Any = 1.0
    for _ in range(40):
        state = {"a": state, Legacy.RED: 2.0, "z": "none"}
    text = json.dumps({"a": 1, "red": 2, "z": None}, separators=(",", ":"))
    assert canonical_text({"a": 1.0, Legacy.RED: 2.0, "z": "none"}) == text
    assert get_dict_hash(state) == get_dict_hash(normalize_for_comparison(state))


@pytest.mark.parametrize("levels", [MAX_DEPTH, 3_000, 100_000])
def test_too_deep_is_a_state_error(levels):
    with pytest.raises(StateError, match=f"nested more than {MAX_DEPTH} levels deep") as caught:
        get_dict_hash({"d": nested(levels)})
    assert caught.value.path.startswith("d[0][0]")
    assert len(caught.value.path) < 120


def test_deep_but_allowed():
    assert len(get_dict_hash(nested(MAX_DEPTH - 1))) == 64


def test_no_recursion_error_escapes_a_deep_stack():
    def from_depth(frames: int) -> str:
        return from_depth(frames - 1) if frames else get_dict_hash(nested(MAX_DEPTH - 1))

    with pytest.raises(StateError, match="nested too deeply"):
        from_depth(800)


def test_the_session_is_not_even_looked_at():
    assert get_dict_hash({"session": {"socket": object(), 1: {2}}}) == EMPTY


def test_state_error_survives_pickling():
    with pytest.raises(StateError) as caught:
        get_dict_hash({"x": math.nan})
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.path, str(copied)) == ("x", str(caught.value))
    assert isinstance(copied, ValueError)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (2500, 2500.5),
        (9007199254740993, 9007199254740992),
        ("1", 1),
        ("Smith ", "Smith"),
        (True, 1),
        (False, 0),
        ({"a": None}, {}),
        ([], {}),
        ("e\u0301", "\u00e9"),
        ("", None),
        ({"segments": [1, 2]}, {"segments": [2, 1]}),
        ({"bookings": [1, 1, 2]}, {"bookings": [1, 2, 2]}),
    ],
    ids=lambda value: f"{value!r:.30}",
)
def test_what_looks_alike_and_differs(left, right):
    assert get_dict_hash({"x": left}) != get_dict_hash({"x": right})
    assert not same_state(left, right)
