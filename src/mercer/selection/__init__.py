"""Criteria by which models are chosen."""

from mercer.selection.leave_one_out import leave_one_out, leave_one_out_from_hat

__all__ = ["leave_one_out", "leave_one_out_from_hat"]
