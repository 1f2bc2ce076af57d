"""What relaying costs, proxy by proxy, in front of the same fake engine.

`bash bench/setup.sh`, then `python -m bench`.
"""
