"""Device profiles: every shipped one, a user's own, and what is said of bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.analysis.devices import device, device_names, parse_device
from passlens.ir.errors import InputError

GOOD: dict[str, Any] = {
    "name": "my card",
    "memory_bytes": 1000,
    "flops_per_s": {"f32": 1e12, "f16": 2e12},
    "bandwidth_bytes_per_us": 1e5,
    "compute_units": 10,
    "launch_us": 2,
    "kernel_us": 3,
    "pinned": {"latency_us": 5, "bytes_per_us": 1000},
    "pageable": {"latency_us": 10, "bytes_per_us": 500},
    "copy_engines": 1,
}
SHIPPED = ["a100", "h200", "laptop", "mi250x", "mi300x", "rx7900xtx"]


def changed(key: str, value: Any) -> str:
    data = json.loads(json.dumps(GOOD))
    at = data
    *path, last = key.split(".")
    for part in path:
        at = at[part]
    at[last] = value
    return json.dumps(data, indent=1)


def test_the_shipped_profiles_say_where_their_numbers_are_from() -> None:
    assert device_names() == SHIPPED
    for name in SHIPPED:
        profile = device(name)
        fields = {"memory_bytes", "flops_per_s", "bandwidth_bytes_per_us", "compute_units", "launch_us", "event_us",
                  "kernel_us", "pinned", "pageable", "copy_engines"}  # fmt: skip
        assert set(profile.sources) == fields | ({"efficiency"} if profile.efficiency else set())
        assert profile.pinned.bytes_per_us > profile.pageable.bytes_per_us
        assert profile.memory_bytes >= 8 * 2**30
        assert {"f32", "f16", "bf16", "f64", "i8"} <= set(profile.flops_per_s)


def test_copies_on_the_h200_take_what_was_measured() -> None:
    h200 = device("H200")
    sizes = [102_400_000 // 161] * 161
    assert sum(h200.pinned.time_us(n) for n in sizes) == pytest.approx(3000, rel=0.03)
    assert h200.pinned.time_us(102_400_000) == pytest.approx(1860, rel=0.03)
    assert h200.pinned.time_us(1 << 20) == pytest.approx(26, rel=0.03)
    assert h200.transfer(False).time_us(16 << 20) == pytest.approx(786, rel=0.1)


@pytest.mark.parametrize("name", ["RX 7900 XTX", "rx-7900-xtx", "RX7900XTX", "rx_7900_xtx"])
def test_names_are_found_however_they_are_spelt(name: str) -> None:
    assert device(name).name == "AMD Radeon RX 7900 XTX"


def test_the_documented_profile_is_one() -> None:
    text = (Path(__file__).parents[3] / "docs/devices.md").read_text()
    profile = parse_device(text.split("```json\n")[1].split("```")[0])
    assert profile.name == "my card"
    assert profile.efficiency["convolution"].compute == 0.6
    for name in device_names():
        assert f"`{name}`" in text
    for key in json.loads(text.split("```json\n")[1].split("```")[0]):
        assert f"`{key}`" in text or key == "name"


def test_an_unknown_name_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'mi300'; did you mean mi300x\?.*a100, h200.*path of a JSON"):
        device("mi300")


def test_a_profile_by_path(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(GOOD))
    mine = device(path)
    assert (mine.name, mine.pinned.latency_us, mine.event_us, dict(mine.efficiency)) == (
        "my card",
        5.0,
        1.0,
        {},
    )
    path.write_bytes(b"\xef\xbb\xbf" + changed("efficiency", {"dot": {"compute": 1, "memory": 0.5}}).encode())
    assert device(str(path)).efficiency["dot"].memory == 0.5


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("launch_us", "fast", r"`launch_us` is \"fast\"; expected a number, 0 or more: microseconds that the host"),
        ("launch_us", -1, r"`launch_us` is -1; expected a number, 0 or more"),
        ("launch_us", True, r"`launch_us` is true; expected"),
        ("kernel_us", float("nan"), r"`kernel_us` is NaN; expected"),
        ("bandwidth_bytes_per_us", 0, r"more than 0"),
        ("bandwidth_bytes_per_us", float("inf"), r"Infinity; expected"),
        ("memory_bytes", 1.5, r"`memory_bytes` is 1.5; expected a whole number, 1 or more: bytes of device memory"),
        ("compute_units", 0, r"`compute_units` is 0"),
        ("copy_engines", None, r"`copy_engines` is null"),
        ("pinned", 7, r"`pinned` is 7; expected an object"),
        ("pinned.bytes_per_us", 0, r"`pinned.bytes_per_us` is 0; expected a number, more than 0: bytes that are copied"),
        ("pageable.latency", 3, r"no key 'latency' in a device profile; did you mean latency_us\?"),
        ("flops_per_s", {"f16": 1e9}, r"f32 at least"),
        ("flops_per_s", {"f32": 1e9, "float": 1}, r"`flops_per_s.float` is 1; expected an element type"),
        ("flops_per_s", [], r"`flops_per_s` is \[\]"),
        ("name", "", r"`name` is \"\"; expected a text"),
        ("lunch_us", 3, r"no key 'lunch_us' in a device profile; did you mean launch_us\?"),
        ("efficiency", {"dot": {"compute": 2, "memory": 1}}, r"`efficiency.dot.compute` is 2; expected a share"),
        ("efficiency", {"dot": 1}, r"`efficiency.dot` is 1"),
        ("efficiency", 3, r"`efficiency` is 3"),
        ("sources", {"pinned": 3}, r"`sources.pinned` is 3; expected a text"),
        ("sources", [], r"`sources` is \[\]"),
    ],
)  # fmt: skip
def test_a_bad_value_is_told_with_its_place(key: str, value: Any, said: str) -> None:
    text = changed(key, value)
    with pytest.raises(InputError, match=said) as caught:
        parse_device(text, "card.json")
    place = caught.value.place
    assert place is not None
    assert place.file == "card.json"
    assert f'"{key.split(".")[0]}"' in text or place.line == 1
    line = text.split("\n")[place.line - 1]
    assert any(part in line for part in (key.rpartition(".")[2], "float", "dot", "compute", "pinned"))


@pytest.mark.parametrize("key", [*GOOD, "pinned.latency_us", "pageable.bytes_per_us"])
def test_a_missing_key_is_named_with_its_meaning(key: str) -> None:
    data = json.loads(json.dumps(GOOD))
    at = data
    *path, last = key.split(".")
    for part in path:
        at = at[part]
    del at[last]
    with pytest.raises(InputError, match=rf"card.json: the key {key} is missing; expected \w+ \w+"):
        parse_device(json.dumps(data), "card.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", r"card.json:1:2: the device profile is no JSON"),
        ("", r"card.json:1:1: the device profile is no JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[1]", r"the profile is \[1\]; expected an object with the keys name"),
        ('{"name": 1, "name": 2}', "'name' stands there twice"),
        ('{"memory_bytes": ' + "9" * 5000 + "}", "card.json: "),
        ("3", "the profile is 3"),
    ],
)
def test_texts_that_are_no_profile(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_device(text, "card.json")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: the device profile cannot be read: No such file"):
        device(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        device(tmp_path)
    (tmp_path / "binary.json").write_bytes(b'{"name": "\xff"}')
    with pytest.raises(InputError, match="byte 10 is no UTF-8"):
        device(tmp_path / "binary.json")
    (tmp_path / "large.json").write_bytes(b" " * (1 << 21))
    with pytest.raises(InputError, match="more than 1 MB"):
        device(tmp_path / "large.json")
    with pytest.raises(InputError):
        device("a\0b.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*GOOD, "efficiency", "sources", "event_us", "other"]), json_values)
def test_any_value_anywhere_gives_a_device_or_an_input_error(key: str, value: Any) -> None:
    try:
        made = parse_device(changed(key, value), "card.json")
    except InputError as fault:
        assert "card.json" in str(fault)
    else:
        assert made.pinned.time_us(0) >= 0
        assert made.bandwidth_bytes_per_us > 0
