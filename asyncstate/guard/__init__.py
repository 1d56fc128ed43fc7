"""Guards runs: against each other, the remains of killed ones, a loop that is held up or closed, and a power cut."""
