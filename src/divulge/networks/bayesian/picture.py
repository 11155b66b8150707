"""A network drawn: arrows from parents to children, each variable shaded by what all outputs say of it at most."""

import math
from typing import TYPE_CHECKING

from divulge.extras import drawable, require
from divulge.model.shown import at_most
from divulge.networks.bayesian.network import Network
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def drawn(network: Network, ax: "Axes | None" = None, unit: Unit = "nats") -> "Axes":
    """Draw a network by layers, parents above; return the axes."""
    networkx = require("networkx", "networks")
    ax = drawable(ax, (7.0, 5.0))
    graph = networkx.DiGraph()
    for name, node in network.variables.items():
        graph.add_node(name)
        graph.add_edges_from((parent, name) for parent in node.parents)
    for layer, names in enumerate(networkx.topological_generations(graph)):
        for name in names:
            graph.nodes[name]["layer"] = -layer
    places = networkx.multipartite_layout(graph, subset_key="layer", align="horizontal")
    levels = {name: worst.leakage.upper / nats_per(unit) for name, worst in network.by_variable().items()}
    finite = [level for level in levels.values() if math.isfinite(level)]
    top = max(finite, default=0.0) or 1.0
    put_out = {output.variable for output in network.outputs.values()}
    networkx.draw_networkx_edges(graph, places, ax=ax, node_size=1600, edge_color="0.5")
    networkx.draw_networkx_nodes(
        graph, places, ax=ax, nodelist=list(levels), node_size=1500, cmap="Reds", vmin=0.0,
        vmax=1.6 * top, node_color=[min(level, top) for level in levels.values()],
        edgecolors=["black" if name in put_out else "0.7" for name in levels],
        linewidths=[2.5 if name in put_out else 1.0 for name in levels],
    )  # fmt: skip
    labels = {name: f"{name}\n{at_most(level)}" for name, level in levels.items()}
    networkx.draw_networkx_labels(graph, places, labels, ax=ax, font_size=9)
    ax.set_title(f"greatest leakage about each variable [{unit}]")
    ax.set_xlabel("thick rings: put out")
    ax.margins(0.2)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return ax
