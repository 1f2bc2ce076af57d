"""Load tests: what adaptive routing gains at each level of concurrency."""
