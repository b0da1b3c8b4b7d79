"""Includes, conditions and macros; places stay those of the user's text."""

from pathlib import Path

import pytest

from tidelog.errors import ProgramError
from tidelog.language.parser import parse, parse_file


def codes(text: str, file: str = "<text>", include_folders: tuple[Path, ...] = ()) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        parse(text, file, include_folders)
    return [finding.code for finding in caught.value.diagnostics]


def same(text: str, plain: str) -> bool:
    return parse(text) == parse(plain)


def test_a_macro_stands_for_its_text():
    assert same("#define N 5\np(N, N + 1).", "p(5, 5 + 1).")


def test_a_macro_with_parameters_takes_arguments_with_commas_inside_parentheses():
    assert same("#define BOTH(a, b) a, b\np(x) :- BOTH(q(x, 1), r(x)).", "p(x) :- q(x, 1), r(x).")


def test_a_macro_with_parameters_needs_parentheses_to_be_used():
    assert same("#define q(a) r(a)\np(q).", "p(q).")


def test_a_macro_that_names_itself_is_not_expanded_again():
    assert same("#define p(x) p(x, 0)\np(1).", "p(1, 0).")


def test_macros_can_use_macros():
    assert same("#define ONE 1\n#define TWO ONE + ONE\np(TWO).", "p(1 + 1).")


def test_a_macro_can_take_any_number_of_arguments():
    assert same("#define ALL(r, ...) r(__VA_ARGS__)\nALL(p, 1, 2).", "p(1, 2).")


def test_parameters_can_be_turned_into_strings_and_glued():
    assert same("#define REL(n) rel_ ## n(#n)\nREL(a).", 'rel_a("a").')


def test_a_definition_may_go_on_in_the_next_line():
    assert same("#define PAIR p(1), \\\n  p(2)\nPAIR.", "p(1), p(2).")


def test_undef_forgets_a_macro():
    assert same("#define n 1\n#undef n\np(n) :- q(n).", "p(n) :- q(n).")


def test_conditions_choose_between_texts():
    text = "#define A\n#ifdef A\np(1).\n#else\np(2).\n#endif\n#ifndef A\np(3).\n#endif"
    assert same(text, "p(1).")


def test_conditions_nest_and_what_is_left_out_is_not_read():
    text = '#ifdef A\n#ifdef B\np("unclosed).\n#else\n#include "nowhere"\n#endif\n#else\np(1).\n#endif'
    assert same(text, "p(1).")


def test_tokens_of_a_macro_stand_where_it_is_used():
    rule = next(parse("#define N 5\n\np(N).").rules)
    assert str(rule.heads[0].arguments[0].span) == "<text>:3:3"


def test_arguments_of_a_macro_keep_their_places():
    rule = next(parse("#define ID(x) x\np(ID( 7)).").rules)
    assert str(rule.heads[0].arguments[0].span) == "<text>:2:7"


def test_included_text_has_its_own_file_name(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "part.dl").write_text('#include "more.dl"\nq(1).\n')
    (tmp_path / "sub" / "more.dl").write_text("r(1).\n")
    (tmp_path / "main.dl").write_text('#include "sub/part.dl"\np(1).\n')
    program = parse_file(tmp_path / "main.dl")
    assert [(Path(rule.span.file).name, rule.span.line, rule.id) for rule in program.rules] == [
        ("more.dl", 1, 1),
        ("part.dl", 2, 2),
        ("main.dl", 2, 3),
    ]
    assert len(program.texts) == 3


def test_an_include_folder_is_looked_in_last(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "part.dl").write_text("q(1).\n")
    assert parse('#include "part.dl"', include_folders=[tmp_path / "lib"]) == parse("q(1).")
    assert parse("#include <part.dl>", include_folders=[tmp_path / "lib"]) == parse("q(1).")


def test_the_same_file_may_be_included_twice(tmp_path):
    (tmp_path / "part.dl").write_text("q(1).\n")
    text = '#include "part.dl"\n#include "part.dl"\n'
    assert parse(text, str(tmp_path / "main.dl")) == parse("q(1). q(1).")


def test_a_text_without_a_file_includes_nothing():
    assert codes('#include "part.dl"') == ["D142"]
    assert codes("#include <part.dl>", "main.dl") == ["D142"]


def test_a_name_that_no_file_can_have_is_a_missing_file():
    assert codes(f'#include "{"a" * 300}"', "main.dl") == ["D140"]


def test_a_link_does_not_lead_out_of_the_folder(tmp_path):
    (tmp_path / "secret.dl").write_text("q(1).\n")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link.dl").symlink_to(tmp_path / "secret.dl")
    assert codes('#include "link.dl"', str(tmp_path / "here" / "main.dl")) == ["D142"]


def test_a_file_that_is_not_text_is_reported(tmp_path):
    (tmp_path / "part.dl").write_bytes(b"\xff\xfe\x00")
    assert codes('#include "part.dl"', str(tmp_path / "main.dl")) == ["D143"]


def test_files_that_include_each_other_without_end_are_reported(tmp_path):
    for number in range(12):
        twice = f'#include "{number + 1}.dl"\n' * 2
        (tmp_path / f"{number}.dl").write_text(twice)
    (tmp_path / "12.dl").write_text("p(1).\n")
    assert codes('#include "0.dl"', str(tmp_path / "main.dl")) == ["D141"]


def test_a_chain_of_macros_that_is_too_long_is_reported():
    chain = "".join(f"#define M{number} M{number + 1}\n" for number in range(300))
    assert codes(chain + "p(M0).") == ["D136"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("#frob", "D130"),
        ("#define F(a b) a", "D131"),
        ("#ifdef\n#endif", "D131"),
        ("#endif", "D132"),
        ("#ifdef A\n#else\n#else\n#endif", "D132"),
        ("#ifdef A", "D133"),
        ("#define F(a) a\np(F(1, 2)).", "D134"),
        ("#define F(a) a\np(F(1", "D135"),
        ("#include", "D144"),
        ('#error "no"', "D145"),
        ("#if 1\n#endif", "D190"),
    ],
)
def test_each_mistake_has_a_code_and_causes_no_other(text, code):
    assert codes(text) == [code]
