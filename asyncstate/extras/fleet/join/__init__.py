"""The join of the plans of all hosts to one graph, checked before anything starts. It is pure."""
