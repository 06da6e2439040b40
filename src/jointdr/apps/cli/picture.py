"""The picture that the demo draws."""

from __future__ import annotations

from pathlib import Path

from jointdr.apps.cli.contest import AT, Result
from jointdr.plot import save_figure

COLORS = ("#a0aec0", "#d69e2e", "#38a169", "#805ad5", "#2b6cb0")


def draw(results: list[Result], title: str, what: tuple[str, str], path: Path) -> None:
    """Recall against the number of retrieved columns, and of links to columns that nothing was known of.

    Parameters
    ----------
    results : list of Results
    title : str
    what : two str
        What rows and columns are called.
    path : path
        Of a .png file.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from jointdr.plot import recall_curves

    figure, (curves, bars) = plt.subplots(1, 2, figsize=(10, 3.8), width_ratios=(1.5, 1), constrained_layout=True)
    colors = {result.name: color for result, color in zip(results, COLORS, strict=True)}
    recall_curves({result.name: (AT, result.recall) for result in results}, curves, colors=colors)
    curves.set(
        title=f"{title}: held-out links that are found",
        xlabel=f"{what[1]}s retrieved for a held-out {what[0]}",
        ylabel="recall",
        xticks=range(0, 101, 20),
    )
    bars.barh(range(len(results)), [result.new for result in results], color=COLORS, height=0.65)
    for i, (result, color) in enumerate(zip(results, COLORS, strict=True)):
        label = f"{result.new:.2f}"
        bars.annotate(label, (result.new, i), (3, 0), textcoords="offset points", va="center", fontsize=9, color=color)
    bars.set(
        title=f"Links to {what[1]}s without any known link",
        xlabel=f"recall at {AT[-1]}",
        yticks=[],
        ylim=(-0.5, len(results) - 0.5),
    )
    bars.margins(x=0.12)
    for axis in (curves, bars):
        axis.spines[["top", "right"]].set_visible(False)
        axis.title.set_fontsize(10)
    save_figure(figure, path, dpi=100)
    plt.close(figure)
