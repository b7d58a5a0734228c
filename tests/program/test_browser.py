# SPDX-License-Identifier: Apache-2.0
"""The report's page in a real browser: Chromium, driven by its driver (./dev setup browser installs both)."""
import shutil
import time

import pytest
import results

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is not installed: ./dev setup browser")
if not shutil.which("chromium") or not shutil.which("chromedriver"):
    pytest.skip("chromium or its driver is not installed: ./dev setup browser", allow_module_level=True)

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

CHARTS = ["speed", "ladder", "heat", "roofline", "error"]
HOSTILE = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'> CPU"


@pytest.fixture(scope="module")
def chromium():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


class Page:
    """A report that is open; leaving it checks that it said nothing on the console."""

    def __init__(self, driver, path, width=1400, height=900, dark=False):
        self.driver = driver
        driver.get_log("browser")
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.get(path.as_uri())

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition, what):
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, what
            time.sleep(0.05)

    def scroll_to(self, chart):
        self.run("document.getElementById(arguments[0]).scrollIntoView()", chart)
        self.wait(lambda: all(figure.get_attribute("data-drawn") for figure in self.all(f"#{chart} .figure")), chart)

    def column(self, name):
        return [cell.text for cell in self.all(f"#table td.{name}")]

    def silent(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


@pytest.fixture
def pages(program, chromium):
    """report(*documents): makes the page of these and opens it."""
    def opened(*documents, **how):
        files = [results.save(program.folder / f"{i}.json", document) for i, document in enumerate(documents)]
        done = program.start("report", *files, "-o", "page.html")
        said = done.communicate(timeout=60)[1]
        if "no plotting library" in said:
            pytest.skip("this build has no plotting library")
        assert done.returncode == 0, said
        return Page(chromium, program.folder / "page.html", **how)
    return opened


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 380])
def test_charts_are_drawn(pages, width, dark):
    page = pages(results.document(), results.document(device="Another CPU", seed=2, rivals=("openblas", "mkl")), width=width,
                 dark=dark)
    marks = {"speed": ".scatterlayer .trace", "ladder": ".barlayer .point", "heat": ".heatmaplayer image",
             "roofline": ".scatterlayer .trace", "error": ".scatterlayer .trace"}
    for chart in CHARTS:
        page.scroll_to(chart)
        figures = page.all(f"#{chart} .figure")
        assert len(figures) == 2
        for figure in figures:
            assert len(figure.find_elements(By.CSS_SELECTOR, marks[chart])) >= 1, chart
            box = figure.find_element(By.CSS_SELECTOR, ".main-svg").rect
            assert 250 < box["width"] <= width and box["height"] > 100
    # Nothing is wider than the window: side by side where there is room, below each other where there is not.
    assert page.run("return document.documentElement.scrollWidth") <= width
    tops = {figure.rect["y"] for figure in page.all("#speed .figure")}
    assert len(tops) == (1 if width == 1400 else 2)
    paper = page.run("return getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, paper.strip("rgba()").split(",")[:3])) < 150 if dark else paper == "rgb(255, 255, 255)"
    ink = page.run("return document.querySelector('#speed .xtick text').style.fill")
    assert (sum(map(int, ink.strip("rgba()").split(",")[:3])) > 400) == dark
    assert page.silent()


def test_every_contender_has_its_line_and_every_kernel_its_bar(pages):
    page = pages(results.document())
    page.scroll_to("speed")
    names = {item.text for item in page.all("#speed .legendtext")}
    assert {"exactile", "openblas", "blis", "onednn", "cpu_naive", "portable_blocked", "measured peak"} <= names
    page.scroll_to("ladder")
    Select(page.all("#product")[0]).select_by_visible_text("1000 × 1000 × 1000")
    page.wait(lambda: len(page.all("#ladder .barlayer .point")) == 3, "the chosen product's kernels")
    assert [tick.text.strip() for tick in page.all("#ladder .ytick")] == ["cpu_naive", "portable_blocked", "avx2_f32_fma_6x16"]
    assert page.silent()


def test_every_accuracy_has_its_line(pages):
    document = results.document()
    document["results"] += [row | {"accuracy": "reduced"} for row in document["results"] if row["m"] == row["n"] == row["k"] < 1000]
    page = pages(document)
    for chart in ("speed", "roofline", "error"):
        page.scroll_to(chart)
        assert {"exactile", "exactile, reduced", "blis", "blis, reduced"} <= {item.text for item in page.all(f"#{chart} .legendtext")}
    assert page.silent()


def test_each_run_is_compared_within_itself(pages):
    one, other = (results.document(extra=0, rivals=(rival,)) for rival in ("openblas", "blis"))
    for row in other["results"]:
        row["gflops"] = {name: 100 * speed for name, speed in row["gflops"].items()}
    page = pages(one, other)
    card = page.all("#overview .card")[0].text.splitlines()
    assert card[card.index("compared") + 1] == str(2 * len(results.CUBES))
    page.scroll_to("heat")
    ratios = [2 ** cell for line in page.all("#heat .plot")[0].get_property("data")[0]["z"] for cell in line if cell is not None]
    assert len(ratios) == 2 * len(results.CUBES) and max(ratios) < 2
    page.scroll_to("ladder")
    Select(page.all("#product")[0]).select_by_visible_text("512 × 512 × 512")
    page.wait(lambda: len(page.all("#ladder .barlayer .point")) == 2, "the chosen product's contenders, of one run")
    assert page.silent()


def test_our_own_products_are_no_rivals(pages):
    page = pages(results.document(extra=0, rivals=("exactile standard",)))
    card = page.all("#overview .card")[0].text
    assert "products" in card and "best rival" not in card and "exactile standard" not in card
    assert page.silent()


def test_sorting(pages):
    page = pages(results.document())
    speeds = lambda: [float(text) for text in page.column("GFLOP-s") if text]  # noqa: E731
    head = next(head for head in page.all("#table th") if head.text.startswith("GFLOP/s"))
    head.find_element(By.TAG_NAME, "button").click()
    assert speeds() == sorted(speeds(), reverse=True) and head.get_attribute("aria-sort") == "descending"
    head.find_element(By.TAG_NAME, "button").click()
    assert speeds() == sorted(speeds()) and head.get_attribute("aria-sort") == "ascending"
    error = next(head for head in page.all("#table th") if head.text == "over best rival")
    error.find_element(By.TAG_NAME, "button").click()
    ratios = page.column("over-best-rival")
    known = [text for text in ratios if text]
    assert ratios[:len(known)] == known and len(known) < len(ratios), "what is missing stands last"
    assert page.silent()


def test_filtering(pages):
    page = pages(results.document(), results.document(device="Another CPU", seed=2))
    every = len(page.all("#table tbody tr"))
    field = page.all("#filter")[0]
    field.send_keys("another BLIS 128 ")
    shown = page.all("#table tbody tr")
    assert 0 < len(shown) < every
    assert all("Another CPU" in row.text and "blis" in row.text and "128" in row.text for row in shown)
    assert page.all("#count")[0].text.startswith(f"{len(shown)} of {len(shown)} rows; ")
    field.clear()
    field.send_keys("no such thing")
    assert page.all("#table tbody tr") == []
    field.clear()
    field.send_keys(" ")
    assert len(page.all("#table tbody tr")) == every
    next(label for label in page.all("#devices label") if "AMD" in label.text).click()
    assert set(page.column("device")) == {"Another CPU"}
    assert [figure.is_displayed() for figure in page.all("#speed .figure")] == [False, True]
    assert page.silent()


def test_the_theme_can_be_changed(pages):
    page = pages(results.document())
    page.all("#theme")[0].click()
    assert page.run("return getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    page.all("#theme")[0].click()
    assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.silent()


def test_hostile_names_are_shown_and_not_run(pages):
    document = results.document(device=HOSTILE, rivals=(HOSTILE, "<a href='javascript:broken=3'>blis</a>"))
    document["results"][0]["kernel"] = HOSTILE
    page = pages(document)
    for chart in CHARTS:
        page.scroll_to(chart)
    assert page.all("#speed h3")[0].text.startswith(HOSTILE)
    assert page.run("return window.broken") is None
    assert page.run("return document.querySelectorAll('img, main a').length") == 0
    assert page.silent()


def test_five_thousand_results_are_there_in_five_seconds(pages):
    page = pages(results.document(extra=4991))
    page.driver.execute_cdp_cmd("Performance.enable", {})
    # Time of the page's own thread, which no other process takes from it; the least of three, which all share caches.
    seconds = []
    for _ in range(3):
        page.driver.refresh()
        page.scroll_to("speed")
        metrics = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        seconds += [metric["value"] for metric in metrics if metric["name"] == "ThreadTime"]
    assert len(seconds) == 3 and 0 < min(seconds) < 5, seconds
    marks = len(page.all("#speed .point"))
    assert 1000 < marks < 10000, "of points that cover each other one is drawn"
    page.scroll_to("heat")
    assert len(page.all("#heat .heatmaplayer image")) == 1
    rows = len(page.all("#table tbody tr"))
    page.all("#more")[0].click()
    assert len(page.all("#table tbody tr")) > rows
    assert page.silent()
