"""Votes of weak learners: linear programming boosting and its relatives."""
