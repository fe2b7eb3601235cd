"""What an agent's message may hold instead of what was expected."""

from atoll.domain.agents.lenient_json import name_of, read_objects


def test_name_is_a_text_or_a_whole_number_and_nothing_else() -> None:
    assert name_of({"a": True, "b": None, "id": 7}, "a", "b", "id") == "7"
    assert name_of({"a": True, "b": 1.5}, "a", "b") == ""


def test_parts_are_the_objects_of_the_first_list() -> None:
    assert read_objects({"a": "no", "b": [{"x": 1}, 2, "y"]}, "a", "b") == [{"x": 1}]
    assert read_objects({"a": "no"}, "a", "b") == []
