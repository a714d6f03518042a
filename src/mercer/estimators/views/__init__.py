"""Many views and bags: samples that are described more than once, or by many instances."""
