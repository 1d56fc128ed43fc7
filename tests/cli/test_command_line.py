from asyncstate.cli.session import shown_command


def test_values_that_may_be_secret_are_not_shown():
    given = ["apply", "web", "--pillar", "{password: x}", "--pillar={a: b}", "--test", "test=True"]
    assert shown_command(given) == "asyncstate apply web --pillar ... --pillar=... --test test=True"
    assert shown_command(["single", "user.present", "name=x", "password=y"]) == (
        "asyncstate single user.present name=... password=..."
    )


def test_a_shell_reads_it_as_it_was_given():
    assert shown_command(["apply", "a b", "--out", "x;y"]) == "asyncstate apply 'a b' --out 'x;y'"
