"""Figure of the benchmark: mean time of a solve of every library on each arm."""

from __future__ import annotations

from pathlib import Path

from findings import is_ours, Row, rows_of


def draw(path: Path) -> bool:
    """
    Draw the figure from the results on disk.

    :param path: the PNG file.
    :returns: whether there is something to draw, and Matplotlib to draw it.
    """
    rows = rows_of('solvers')
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    if not rows:
        return False
    mpl.use('Agg')
    from matplotlib import pyplot as plt

    chains = list(dict.fromkeys(row['chain'] for row in rows))
    figure, axes = plt.subplots(
        1, len(chains), figsize=(3.3 * len(chains), 3.6), sharex=True, layout='constrained',
        squeeze=False,
    )  # fmt: skip
    for panel, chain in zip(axes[0], chains, strict=True):
        own = [row for row in rows if row['chain'] == chain]
        _bars(panel, sorted(own, key=lambda row: -float(row['mean_us'])))
        panel.set_title(chain)
    figure.supxlabel('mean time of a solve [µs]')
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return True


def _bars(panel: object, rows: list[Row]) -> None:
    """One bar a solver, the fastest at the top, with the share of problems solved."""
    times = [float(row['mean_us']) for row in rows]
    colours = ['tab:blue' if is_ours(row['solver']) else 'tab:gray' for row in rows]
    bars = panel.barh([row['solver'] for row in rows], times, color=colours)
    solved = [f' {float(row["success_percent"]):.4g} %' for row in rows]
    panel.bar_label(bars, solved, fontsize=7)
    panel.set_xscale('log')
    panel.set_xlim(1, 3e5)
    panel.tick_params(axis='y', labelsize=7)
