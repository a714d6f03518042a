"""The documentation, and the scripts that write those of its pages that are made from the classes."""
