"""The policy benchmark: specs, runs that count, resuming, and the tables."""

import json
from concurrent.futures import Executor, Future
from dataclasses import dataclass

import numpy as np
import pytest

import headway
from bench import policies, policy_rows, policy_specs, policy_table


@pytest.fixture
def stub(monkeypatch):
    """Random search behind the optimizer's ask and tell, and workers in this process."""

    @dataclass
    class Trial:
        id: int
        x: np.ndarray

    class Settings:
        design = 3

    class Optimizer:
        settings = Settings()

        def __init__(self, space, budget, *, seed, policy, surrogate, design):
            self.low, self.high = np.array(space).T
            self.left, self.rng = budget, np.random.default_rng(seed)

        @property
        def done(self):
            return self.left == 0

        def ask(self):
            return Trial(self.left, self.rng.uniform(self.low, self.high))

        def tell(self, trial, value):
            assert np.isfinite(value) and trial.id == self.left
            self.left -= 1

    class Here(Executor):
        def __init__(self, *args, **kwargs):
            pass

        def submit(self, f, *args):
            future = Future()
            future.set_result(f(*args))
            return future

    monkeypatch.setattr(headway, "Optimizer", Optimizer, raising=False)
    monkeypatch.setattr(policies, "ProcessPoolExecutor", Here)


# --- specs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", policy_specs.STANDARD)
def test_the_standard_specs_can_be_parsed(text):
    assert policy_specs.parse(text).text == text


def test_a_spec_changes_fields_of_the_policy_and_of_the_surrogate():
    spec = policy_specs.parse(
        "mine=default:finish=0.2,local=box,size=2/0.02,compress=false,ard=false"
    )
    assert (spec.label, spec.name) == ("mine", "default")
    assert (spec.policy.finish, spec.policy.local) == (0.2, "box")
    assert spec.policy.size == (2, 0.02)
    assert (spec.surrogate.compress, spec.surrogate.ard) == (False, False)
    assert spec.surrogate.noise == 0.0  # unless the spec says otherwise


def test_a_spec_passes_arguments_to_its_preset():
    spec = policy_specs.parse("paper:acquisition=poi,rule=projected,rho=late,anchor=best")
    assert spec.policy == headway.Policy.paper("poi", rule="projected", rho="late", anchor="best")
    assert policy_specs.parse("ucb:kappa=1").policy == headway.Policy.ucb(1)
    assert policy_specs.parse("ei:local=none,design=7").design == 7
    assert policy_specs.parse("paper:surrogate=paper").surrogate == headway.Surrogate.paper()


def test_without_a_label_a_spec_is_its_own():
    assert policy_specs.parse("default:finish=0.2").label == "default:finish=0.2"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("best", "no policy is called 'best'; there are default, ei"),
        ("default:speed=3", "no field is called 'speed'; there are"),
        ("default:finish", "'finish' is not field=value"),
        ("sobol:design=3", "sobol takes no fields"),
        ("default:finish=2", "finish is 2"),
    ],
)
def test_a_bad_spec_is_refused(text, match):
    with pytest.raises(ValueError, match=match):
        policy_specs.parse(text)


# --- cells and runs -------------------------------------------------------------------------


def test_cells_name_their_runs():
    specs = [policy_specs.parse("ei"), policy_specs.parse("random")]
    jobs = list(policies.Cell.parse("bbob-5-50:2-3").jobs(specs))
    assert len(jobs) == 2 * 24 * 2
    assert [(job.label, job.problem, job.instance) for job in jobs[:3]] == [
        ("ei", "f1", 2),
        ("random", "f1", 2),
        ("ei", "f2", 2),
    ]
    assert {job.seed for job in jobs[:2]} == {200}
    assert {job.d for job in policies.Cell.parse("classics-50").jobs(specs)} == {1, 2, 3, 4, 5, 6}
    assert policies.Cell.parse("deceptive-1-50").replicates == tuple(range(1, 31))


@pytest.mark.parametrize("text", ["bbob-50", "classics-2-50", "soup-2-50", "bbob-2-50:", "bbob"])
def test_a_bad_cell_is_refused(text):
    with pytest.raises(ValueError, match="is no cell; one is bbob-5-50:1-3"):
        policies.Cell.parse(text)


def job(label="random", problem="branin", T=12, seed=0):
    return policies.Job(label, label, "classics", problem, 2, 0, seed, T)


def test_the_objective_counts_and_refuses_one_too_many():
    problem = policies.functions.classic("branin")
    objective = policies.Counted(problem, limit=2)
    objective([1.0, 2.0])
    objective([9.0, 14.0])
    assert objective.trace()[0] == (1, pytest.approx(problem([1, 2]) - problem.minimum, rel=1e-5))
    with pytest.raises(RuntimeError, match="evaluation 3 of a budget of 2"):
        objective([1.0, 2.0])


@pytest.mark.parametrize("label", ["random", "sobol"])
def test_a_run_without_a_model(label):
    row = policies.run_one(job(label))
    assert (row["evaluations"], row["T"], row["start"]) == (12, 12, None)
    regrets = [regret for _, regret in row["trace"]]
    assert regrets == sorted(regrets, reverse=True) and row["trace"][0][0] == 1
    assert json.loads(json.dumps(row))["trace"] == [list(pair) for pair in row["trace"]]


def test_a_run_with_the_stub(stub):
    row = policies.run_one(job("ei"))
    assert row["evaluations"] == 12 and "error" not in row
    assert row["start"] == policies.run_one(job("default"))["start"]


def test_an_error_in_a_run_is_its_row(stub, monkeypatch):
    monkeypatch.setattr(headway.Optimizer, "ask", lambda self: 1 / 0)
    row = policies.run_one(job("ei"))
    assert row["error"].startswith("ZeroDivisionError: division by zero (test_policies.py:")


def test_run_resumes_and_survives_a_torn_line(stub, tmp_path):
    out, said = tmp_path / "deeper" / "rows.jsonl", []
    specs = [policy_specs.parse("ei"), policy_specs.parse("random")]
    jobs = list(policies.Cell.parse("classics-5:1-1").jobs(specs))
    assert policies.run(jobs[:6], out, processes=1, hours=None, say=said.append) == 6
    with out.open("a") as file:
        file.write('{"policy": "ei", "su')
    assert policies.run(jobs, out, processes=1, hours=None, say=said.append) == len(jobs) - 6
    assert policies.run(jobs, out, processes=1, hours=None, say=said.append) == 0
    rows = policy_rows.read([out])
    assert len(rows) == len(jobs) == 28
    assert said[-1].startswith("28 of 28 runs are in")


def test_run_stops_when_the_hours_are_up(stub, tmp_path):
    jobs = list(policies.Cell.parse("classics-5:1-1").jobs([policy_specs.parse("random")]))
    count = policies.run(jobs, tmp_path / "r.jsonl", processes=1, hours=0, say=lambda text: None)
    assert count == 0


def test_failed_runs_are_tried_again(stub, tmp_path):
    out = tmp_path / "rows.jsonl"
    policy_rows.append(out, {**policies.run_one(job()), "error": "no luck"})
    assert policies.run([job()], out, processes=1, hours=None, say=lambda text: None) == 1
    assert "error" not in policy_rows.read([out])[0]


# --- tables ---------------------------------------------------------------------------------


def row(policy, regret, *, problem="f1", seed=0, suite="bbob", d=2, T=50, random=100.0, **more):
    return {
        "policy": policy,
        "spec": policy,
        "suite": suite,
        "problem": problem,
        "d": d,
        "instance": 1,
        "seed": seed,
        "T": T,
        "random": random,
        "code": "a",
        "seconds": 1.0,
        "evaluations": T,
        "trace": [[1, 50.0], [T, regret]],
        "start": "same",
        **more,
    }


def test_the_scores_are_floored():
    assert policy_table.log_regret(row("ei", 0.1)) == pytest.approx(-1)
    assert policy_table.log_regret(row("ei", -1e-12)) == pytest.approx(-8)
    assert policy_table.share(row("ei", 1.0)) == pytest.approx(-2)
    assert policy_table.share(row("ei", 1e-6)) == pytest.approx(-3)


def test_the_bootstrap_encloses_the_mean_and_narrows():
    rng = np.random.default_rng(0)
    few, many = (policy_table.bootstrap(rng.normal(0.3, 1, n)) for n in (20, 2000))
    assert few.low < few.mean < few.high
    assert many.high - many.low < (few.high - few.low) / 5
    assert policy_table.bootstrap(np.full(5, 0.25)) == policy_table.Difference(0.25, 0.25, 0.25, 5)


def test_only_what_both_have_is_compared_and_halves_are_told_apart():
    rows = [row("ei", 1.0, problem=p, seed=s) for p in ("f1", "f3") for s in range(3)]
    rows += [row("default", 0.1, problem="f1", seed=s) for s in range(3)]
    rows += [row("default", 20.0, problem="f3", seed=s) for s in range(3)]
    rows += [row("default", 1e8, problem="f4", seed=0)]  # no partner: only in its own mean
    text = policy_table.report(rows, against="ei")
    losses = text[: text.index("bbob-2-50: ")]
    assert "default: log10 regret (all) +0.15 [" in losses
    assert "log10 regret (multimodal) +1.30 [+1.30, +1.30]" in losses
    assert "(rest)" not in losses
    assert "functions f3 x20" in losses
    assert "f3 x20 f1 x0.1" in text and "-1.00 [-1.00, -1.00]" in text


def test_a_loss_within_chance_is_said_to_be():
    rows = [row("ei", 1.0, problem="f1", seed=s) for s in range(4)]
    rows += [row("default", r, problem="f1", seed=s) for s, r in enumerate((9.0, 0.2, 4.0, 0.3))]
    assert "(within chance)" in policy_table.report(rows, against="ei")


def test_the_deceptive_family_is_counted_by_who_solved_it():
    kind = {"suite": "deceptive", "problem": "wang-freitas", "d": 1}
    rows = [row("ei", 0.01 if s < 8 else 2.0, seed=s, **kind) for s in range(10)]
    rows += [row("default", 0.01 if s < 2 else 2.0, seed=s, **kind) for s in range(10)]
    text = policy_table.report(rows, against="ei")
    assert "solved alone 0, ei alone 6, p = 0.031" in text
    assert "8/10" in text and "2/10" in text


def test_remarks_on_rows_that_do_not_fit():
    rows = [
        row("ei", 1.0),
        row("default", 1.0, start="other", code="b"),
        row("box", 1.0, error="ValueError: no"),
        row("mes", 1.0, evaluations=49),
    ]
    text = policy_table.report(rows, against="ei")
    assert "ERROR: box on f1, 2-d: ValueError: no" in text
    assert "LEFT OUT: mes on f1, 2-d spent 49 of 50" in text
    assert "in 1 pairs the initial designs differ" in text
    assert "from 2 states of the code: a, b" in text
    assert "no rows of 'greedy' to compare with" in policy_table.report(rows, against="greedy")
    assert policy_table.report([], against="ei") == "no rows yet"


def test_the_command_line(stub, tmp_path, capsys):
    out = str(tmp_path / "rows.jsonl")
    cells = ["--cells", "classics-5:1"]
    assert policies.main(["run", "--policies", "ei", "random", *cells, "--out", out]) == 0
    assert "classics-5: 14 functions" in capsys.readouterr().out
    assert policies.main(["table", out, "--against", "random"]) == 0
    assert "LOSSES against random" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        policies.main(["run", "--policies", "worst"])
    assert "no policy is called 'worst'" in capsys.readouterr().err
