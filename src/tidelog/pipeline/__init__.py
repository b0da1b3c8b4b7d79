"""Takes sources, a program and sinks, returns a run on Spark. Empty so far: configuration, streaming, state tables."""
