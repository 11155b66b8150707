"""Columns of names and free text: their values do not go out because they occur."""

import pyarrow as pa
import pytest

import divulge as dv

PEOPLE = pa.table({"name": [f"Person {i}" for i in range(40)], "ill": ["yes", "no"] * 20, "age": list(range(40))})


@pytest.mark.parametrize(
    "statistic", [dv.Count("name"), dv.Count("ill", "name"), dv.Mean("age", bounds=(0, 90), by="name")]
)
def test_a_column_of_names_does_not_group_by_what_occurs(statistic: object) -> None:
    with pytest.raises(dv.DivulgeError, match="values that people share") as refused:
        dv.publish(PEOPLE, statistic, guarantee="dp=1", values_from_data=True)
    assert "Person" not in str(refused.value)
    assert "--values" in str(refused.value)


def test_listed_names_and_shared_values_do() -> None:
    listed = {"name": [f"Person {i}" for i in range(50)]}
    assert (
        dv.publish(PEOPLE, dv.Count("name"), guarantee="dp=1", values=listed).table.num_rows == 52
    )  # and other, no answer
    assert dv.publish(PEOPLE, dv.Count("ill"), guarantee="dp=1", values_from_data=True).table.num_rows == 2
    few = pa.table({"town": [*"abcdefgh"]})
    assert dv.publish(few, dv.Count("town"), guarantee="dp=1", values_from_data=True).table.num_rows == 8
