"""Models and statistics, one module a class of output: what is computed, and what is true of it."""
