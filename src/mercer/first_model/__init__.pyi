# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.first_model.intervals import predict_interval as predict_interval
__all__ = [
    "predict_interval",
]
