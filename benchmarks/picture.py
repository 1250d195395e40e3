"""Charts of a report: a panel for each row, a bar for each subject. Needs matplotlib."""

import math
from pathlib import Path

from matplotlib.figure import Figure
from report import Report, rounded

COLUMNS = 4
PANEL_INCHES = 4.5, 1.6


def draw(report: Report, path: Path) -> None:
    """Draw every row of a report into a file, in the format of its suffix."""
    height = math.ceil(len(report.rows) / COLUMNS)
    figure = Figure((PANEL_INCHES[0] * COLUMNS, PANEL_INCHES[1] * height), layout="constrained")
    panels = list(figure.subplots(height, COLUMNS, squeeze=False).flat)
    for panel, row in zip(panels, report.rows, strict=False):
        medians = {subject: report.median(row, subject) for subject in reversed(report.subjects)}
        shown = {subject: value for subject, value in medians.items() if value is not None and math.isfinite(value)}
        bars = panel.barh(list(shown), list(shown.values()))
        panel.bar_label(bars, labels=[rounded(value) for value in shown.values()], padding=2, fontsize=7)
        panel.set_title(report.label(row), fontsize=8)
        panel.tick_params(labelsize=7)
        panel.margins(x=0.2)
    for panel in panels[len(report.rows) :]:
        panel.set_visible(False)
    figure.savefig(path)
