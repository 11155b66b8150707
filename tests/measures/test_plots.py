"""The picture of a tail: its steps are the tail, and infinite values are told."""

import matplotlib as mpl
import numpy as np
import pytest
from support import RUNNING_CHANNEL, RUNNING_PRIOR

import divulge as dv

mpl.use("Agg")


def test_the_line_is_the_tail() -> None:
    variable = dv.pmc(dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL))
    axes = variable.plot(kind="tail")
    (line,) = axes.lines
    assert line.get_xdata()[1:3].tolist() == sorted(variable.values)
    assert line.get_ydata().tolist() == [variable.tail(t) for t in line.get_xdata()]
    assert "nats" in axes.get_xlabel()
    assert not axes.texts


def test_infinite_values_are_told() -> None:
    axes = dv.pmc(dv.Joint([0.5, 0.5], np.eye(2))).plot(kind="tail")
    assert "infinite with probability 1" in axes.texts[0].get_text()


def test_several_mechanisms_share_one_picture() -> None:
    joint = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)
    axes = dv.measures.plot_pointwise({"costs": dv.pmc(joint), "again": joint}, measure="pmc")
    assert [line.get_label() for line in axes.lines] == ["costs", "again"]
    assert axes.lines[0].get_ydata().tolist() == axes.lines[1].get_ydata().tolist()
    for wrong in ({}, {"a": dv.pml(joint, "bits"), "b": joint}, [joint]):
        with pytest.raises(dv.DivulgeError, match="mechanisms"):
            dv.measures.plot_pointwise(wrong)


def test_bars_are_the_values_of_outcomes_and_name_what_is_infinite() -> None:
    leak = dv.pmc(dv.Joint([0.5, 0.5], dv.Channel([[0.5, 0.5], [0, 1]], ["a", "b"], ["rare", "usual"])))
    axes = leak.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["rare", "usual"]
    assert [bar.get_width() for bar in axes.patches] == [0.0, leak["usual"]]
    assert leak["rare"] == np.inf
    assert [text.get_text() for text in axes.texts] == ["infinite"]
    many = dv.pml(dv.Joint([1 / 256] * 256, np.eye(256)))
    assert many.plot().get_ylabel() == "P(pml > t)"  # too many bars to be read
    with pytest.raises(dv.DivulgeError, match="tail"):
        leak.plot(kind="pie")  # pyright: ignore[reportArgumentType]
