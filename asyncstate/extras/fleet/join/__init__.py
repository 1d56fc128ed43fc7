"""The join of all hosts' plans into one graph, checked before anything starts. It is pure."""
