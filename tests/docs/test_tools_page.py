import re

from atoll.surfaces.mcp.toolbox import toolbox
from tests.places import ROOT

PAGE = ROOT / "docs" / "program" / "tools.md"
ROW = re.compile(r"\| `([a-z-]+(?:\.[A-Za-z-]+)+)` \| `([a-z.:-]+)` \| .+ \|")


def test_every_tool_stands_in_the_table_with_its_permission() -> None:
    told = dict(ROW.findall(PAGE.read_text()))
    assert told == {one.tool.name: one.tool.permission for one in toolbox().all()}


def test_example_of_the_guide_is_a_tool() -> None:
    text = (ROOT / "docs" / "change" / "add-a-tool.md").read_text()
    source = text.split("```python\n")[1].split("```")[0]
    made: dict[str, object] = {}
    exec(compile(source, "add-a-tool.md", "exec"), made)
    (tool,) = made["weather"].tools  # type: ignore[attr-defined]
    assert tool.tool.name == "weather.today"
    assert tool.schema()["required"] == ["place"]
