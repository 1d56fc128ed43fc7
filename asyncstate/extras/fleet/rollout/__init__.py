"""Who may begin, and when: batches, canaries and barriers. All of it is sans-I/O."""
