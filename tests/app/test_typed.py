"""What was typed is there again after a message that it cannot be: by its link, and by the Back button."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app.visits import serving
from browser import browser, kept


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as found, kept():
        yield found


def test_every_field_is_there_again_after_an_error(address: str, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    rows = "\n".join(f"{'abc'[i % 3]},t{i % 7},{51 + i / 9000},{13 + i / 9000}" for i in range(300))
    file.write_text(f"ill,town,lat,lon\n{rows}\n")
    from playwright.sync_api import expect

    with browser() as seen:
        page = seen.page
        page.goto(address)
        page.set_input_files("#chosen", file)
        page.get_by_role("button", name="Read this file").click()
        page.get_by_role("radio", name="ill is sensitive").check()
        page.get_by_label("yes; or the promise is to be about a row alone").check()
        page.get_by_label("these, one a line").check()
        page.locator("textarea").fill("only one")
        page.locator("input[name=other]").fill("the rest")
        page.get_by_role("button", name="See what the others say about it").click()
        page.get_by_text("from 2 to 1,000").wait_for()
        page.wait_for_function("sessionStorage.getItem('failed') === '1'")
        page.get_by_role("link", name="Back to the page").click()
        expect(page.locator("textarea")).to_have_value("only one")
        assert page.locator("input[name=other]").input_value() == "the rest"
        assert page.get_by_role("radio", name="ill is sensitive").is_checked()
        assert page.get_by_label("these, one a line").is_checked()
        held = list[Any]()
        page.route("**/app.js*", lambda route: held.append(route))
        page.get_by_role("link", name="Or publish places").click(no_wait_after=True)
        while not held:
            page.wait_for_timeout(5)
        assert page.locator("input[name=west]").count() == 0  # what is typed before the script listens would be lost
        held[0].continue_()
        page.unroute("**/app.js*")
        typed = {"far": "2,5", "south": "51", "west": "here", "north": "51.1", "east": "13.1"}
        for name, text in typed.items():
            page.locator(f"input[name={name}]").fill(text)
        page.locator("input[name=whose][value=row]").check()
        page.route("**/app.js*", lambda route: route.abort())  # who goes back at once leaves before the script has run
        page.get_by_role("button", name="See how far off").click()
        page.get_by_text("Give the region in degrees").wait_for()
        page.unroute("**/app.js*")
        page.go_back()
        expect(page.locator("input[name=west]")).to_have_value("here")
        for name, text in typed.items():
            assert page.locator(f"input[name={name}]").input_value() == text
        page.reload()
        page.locator("input[name=west]").wait_for()
        assert page.locator("input[name=west]").input_value() == ""  # nothing is kept for longer
        page.goto(address.rstrip("/") + "/s/gone/data")
        page.get_by_text("This visit has ended").wait_for()
        assert page.get_by_role("link").all_inner_texts() == ["To the first page"]
        page.get_by_role("link", name="To the first page").click()
        page.get_by_role("button", name="Read this file").wait_for()


def test_a_file_is_read_again_once_the_form_of_its_rows_is_there(address: str, tmp_path: Path) -> None:
    """The columns may come before the rows of the file: a button whose form is not there yet would do nothing."""
    file = tmp_path / "t.csv"
    file.write_text("ill\n" + "\n".join(["a", "b", " a"] * 40) + "\n")
    with browser() as seen:
        page, held, late = seen.page, list[Any](), True
        page.route("**/looked/found", lambda route: held.append(route) if late else route.continue_())
        page.goto(address)
        page.set_input_files("#chosen", file)
        page.get_by_role("button", name="Read this file").click()
        page.locator("input[name=one_spelling]").check()
        again = page.locator("button[form=reading]")
        assert again.count() == 1
        assert not again.is_visible()
        page.wait_for_timeout(300)
        late = False
        for route in held:
            route.continue_()
        again.click()
        page.get_by_text("one spelling for each value").wait_for()
