"""Where the nodes and edges of an acyclic graph are drawn, by the method of Sugiyama: pure geometry, no I/O.

Every node gets a layer after those of all that lead to it, and an edge that spans several layers a bend in each between
(`layers`). The order within the layers is chosen so that few edges cross (`crossings`), then the places, so that no two
boxes overlap and long edges are straight (`places`). `whole` puts parts that nothing connects side by side.
"""
