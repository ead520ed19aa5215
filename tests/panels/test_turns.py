"""How a log of messages becomes turns, and the lines that are written about an answer."""

from panels.markdown import Chip
from panels.turns import claim_line, shortened, turns_of
from services.models import Claim, Message


def user(text: str) -> Message:
    return Message(role="user", content=text)


def reply(to: Message | None, text: str = "yes") -> Message:
    return Message(role="assistant", content=text, reply_to=to.id if to else None)


def test_each_answer_belongs_to_its_question() -> None:
    first, second = user("a"), user("b")
    one, two, again = reply(first), reply(second), reply(first, "again")
    turns = turns_of([first, one, second, two, again])
    assert [turn.question for turn in turns] == [first, second]
    assert turns[0].answers == (one, again)
    assert turns[1].answers == (two,)


def test_a_log_of_another_program_has_no_reply_to() -> None:
    first, second = user("a"), user("b")
    one, two = reply(None), reply(None)
    turns = turns_of([first, one, second, two])
    assert [turn.answers for turn in turns] == [(one,), (two,)]


def test_an_answer_without_its_question_is_still_shown() -> None:
    lost = user("gone")
    orphan = reply(lost)
    (turn,) = turns_of([orphan])
    assert turn.question is None
    assert turn.answers == (orphan,)
    assert turn.id == orphan.id


def test_a_question_without_an_answer_is_a_turn() -> None:
    asked = user("a")
    assert turns_of([asked])[0].answers == ()
    assert turns_of([]) == []


def test_versions_of_a_question_are_one_turn() -> None:
    first = user("a")
    one = reply(first)
    second = user("better").model_copy(update={"replaces": first.id})
    third = user("best").model_copy(update={"replaces": second.id})
    two, three = reply(second), reply(third)
    (turn,) = turns_of([first, one, second, two, third, three])
    assert (turn.id, turn.question) == (first.id, third)
    assert turn.answers == (one, two, three)
    assert [turn.asked(answer) for answer in turn.answers] == [first, second, third]


def test_a_claim_line_names_its_state_and_keeps_its_chips() -> None:
    claim = Claim(text="- **Prices** rose [3] by 5 $.", citations=[3, 9], support="unsupported")
    line = claim_line(claim, {3: Chip("m-3", "quote")})
    assert line.startswith("- ")
    assert "**Not found in its source.**" in line
    assert "**Prices** rose by 5 \\$." in line
    assert "[3](#cite-m-3 " in line
    assert "9" not in line


def test_a_long_passage_is_cut_at_a_word() -> None:
    assert shortened("| a | b |\n- one\n- two") == "| a · b | · one · two"
    line = shortened("word " * 100)
    assert line.endswith("word …")
    assert len(line) < 190
