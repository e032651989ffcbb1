"""Ask now, tell days later: trials that a person makes."""

import pytest

CHEMISTRY = """
budget = {budget}
goal = "maximize"
{more}
[parameters]
temperature = [20.0, 90.0]
solvent = {{choices = ["water", "ethanol"]}}
{end}
"""
LIMITED = "[constraints]\npressure = {read = 'number', max = 5}\nflow = {min = 1}"


@pytest.fixture
def lab(desk):
    desk.write(budget=3, text=CHEMISTRY)
    return desk


def test_ask_and_tell(lab):
    done = lab.call("ask")
    assert done.code == 0 and done.out.startswith("trial 0: initial design\n  temperature  ")
    assert lab.call("ask", "-n", "5", "--json").json[-1]["number"] == 2  # as many as there are
    done = lab.call("tell", "study.toml", "1", "0.75")
    assert done.code == 0 and "told 0.75. 3 of 3 evaluations (2 of them still running)" in done.out
    assert "Best: 0.75 (trial 1)." in done.out
    assert lab.call("tell", "study.toml", "0", "--", "-1.5").code == 0
    failed = lab.call("tell", "study.toml", "2", "--failed", "the flask broke", "--json").json
    assert (failed["state"], failed["error"]) == ("failed", "the flask broke")
    assert lab.states() == ["told", "told", "failed"]
    assert lab.call("best", "--json").json["value"] == 0.75


@pytest.mark.parametrize("value", ["-5", "-1.25", "-2e-3"])
def test_a_negative_value_needs_nothing(lab, value):
    lab.call("ask")
    assert lab.call("tell", "study.toml", "0", value).code == 0
    assert lab.call("best", "--json").json["value"] == float(value)


@pytest.mark.parametrize("words", [["--faild"], ["-5", "--faild"], ["-inf"]])
def test_other_words_with_a_dash_are_still_refused(lab, words):
    lab.call("ask")
    done = lab.call("tell", "study.toml", "0", *words)
    assert done.code in (2, 3) and words[-1] in done.err
    assert lab.states() == ["running"]


def test_nothing_is_left_to_ask_for(lab):
    lab.call("ask", "-n", "3")
    done = lab.call("ask", "--json")
    assert done.code == 6 and done.json["error"]["kind"] == "BudgetSpent"
    assert "nothing is left to ask for: 3 of 3 evaluations" in done.err
    assert len(lab.trials()) == 3


def test_a_cancelled_trial_spends_nothing(lab):
    lab.call("ask", "-n", "3")
    assert lab.call("tell", "study.toml", "1", "--cancel").code == 0
    assert lab.states() == ["running", "void", "running"]
    assert lab.call("ask").out.startswith("trial 3: ")


def test_the_report_names_the_trial_that_best_names(desk):
    """A trial that was cancelled, or refused at once, shifts no number."""
    desk.write(budget=4, text=CHEMISTRY)
    desk.call("ask", "-n", "3")
    desk.call("tell", "study.toml", "1", "--cancel")
    desk.call("tell", "study.toml", "0", "0.25")
    desk.call("tell", "study.toml", "2", "0.75")
    best = desk.call("best", "--json").json["number"]
    assert best == 2
    desk.call("report", "-o", "report.html")
    assert f"Use trial {best}: 0.75" in (desk.folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["7", "1"], "trial 7 is unknown. Allowed: .* Running by hand: 0, 1."),
        (["0"], "trial 0 was told nothing. Allowed: a value, --failed REASON or --cancel"),
        (["0", "1", "--cancel"], "trial 0 was told several ends"),
        (["0", "nan"], "the value of trial 0 is nan. Allowed: a finite number.*--failed"),
        (["0", "1"], "without 'pressure', 'flow'.*Add -c pressure=NUMBER"),
        (["0", "1", "-c", "pressure"], "'pressure' is no constraint. Allowed: NAME=NUMBER"),
        (["0", "1", "-c", "presure=1"], "'presure' is unknown.*Did you mean 'pressure'"),
        (["0", "1", "-c", "pressure=6", "-c", "flow=2"], "without its cost.*Add --cost"),
        (["0", "1", "-c", "pressure=6", "-c", "flow=2", "--cost", "-1"], "cost of trial 0 is -1"),
    ],
)
def test_what_cannot_be_told(desk, arguments, message):
    import re

    desk.write(budget="{evaluations = 5, cost = 100}", text=CHEMISTRY, end=LIMITED)
    desk.call("ask", "-n", "2")
    done = desk.call("tell", "study.toml", *arguments)
    assert done.code == 3
    assert re.search(message, done.err), done.err
    assert desk.states() == ["running", "running"]


def test_constraints_are_told_as_measured(desk):
    desk.write(budget="{evaluations = 5, cost = 100}", text=CHEMISTRY, end=LIMITED)
    desk.call("ask")
    told = ["-c", "flow=2", "-c", "pressure=6", "--cost", "30"]
    assert desk.call("tell", "study.toml", "0", "1.5", *told).code == 0
    (trial,) = desk.trials()
    assert trial["constraints"] == {"pressure": 1.0, "flow": -1.0} and trial["cost"] == 30
    assert desk.call("best").code == 6  # nothing meets both
    again = desk.call("tell", "study.toml", "0", "1.5", *told)
    assert again.code == 3 and "trial 0 was already told 1.5" in again.err


def test_a_run_leaves_what_a_person_asked_for_alone(desk):
    desk.write(budget=4)
    desk.call("ask")
    assert desk.call("run").code == 0
    assert desk.states() == ["running", "told", "told", "told"]
    assert desk.call("tell", "study.toml", "0", "3").code == 0


def test_a_study_without_a_command_cannot_be_run(lab):
    done = lab.call("run")
    assert done.code == 3 and "has no command" in done.err and "headway ask" in done.err
