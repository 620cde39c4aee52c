"""Rewrites of the graph, one theme a file. `GRAPH_PASSES` is their order.

Every pass is `name(outputs) -> outputs`, values unchanged bit by bit.
"""

from lazyblock.graph.passes.fold_views import fold_views
from lazyblock.graph.passes.simplify import simplify

# fold_views first: simplify looks through fewer nodes then.
GRAPH_PASSES = (fold_views, simplify)
