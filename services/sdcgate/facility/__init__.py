"""The way of a query: effective policy, facts, knowledge, rules, protection, proof, commit, review.

Engine, ledger, risk and protection are passed in; there is no gRPC here.
"""
