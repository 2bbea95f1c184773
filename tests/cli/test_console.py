"""What reaches the screen."""

import io

from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from quietgraph.cli.console import PlainConsole, TimeLeftColumn, printable

EVIL = "cat\x1b]0;title\x07\x1b[2J\x9b31m\u202etac\r"


def shown(*what: object) -> str:
    file = io.StringIO()
    PlainConsole(file=file, force_terminal=True, width=200, highlight=False).print(*what)
    return file.getvalue()


def test_terminal_commands_of_a_class_name_are_written_out() -> None:
    table = Table("name")
    table.add_row(EVIL)
    for text in (shown(EVIL), shown(table), shown(f"[red]error:[/] {escape(EVIL)}")):
        assert "\\x1b]0;title\\x07" in text
        assert "\x1b]0" not in text
        assert "\x1b[2J" not in text
        assert not {"\x07", "\x9b", "\u202e", "\r"} & set(text)


def test_colours_of_our_own_stay() -> None:
    assert "\x1b[31m" in shown("[red]error:[/] x")


def test_other_texts_stay_as_they_are() -> None:
    assert printable("snö ☃\tx\ny") == "snö ☃\tx\ny"


def test_time_left_is_said_only_where_it_can_be_estimated() -> None:
    moment = 0.0
    bars = Progress(get_time=lambda: moment, disable=True)
    left = TimeLeftColumn()
    bars.add_task("of unknown length", total=None)
    bars.add_task("folds", total=5)
    endless, stage = bars.tasks
    assert left.render(endless).plain == ""
    assert left.render(stage).plain == "estimating ..."
    for step in (1, 2):
        moment = 10.0 * step
        bars.update(stage.id, completed=step)
    assert left.render(stage).plain == "about 0:00:30 left"
    bars.update(stage.id, completed=5)
    assert left.render(stage).plain == ""
