"""The statistics of disclosure control: arrays in, small frozen dataclasses out.

Nothing here reads a file, a clock, a message or a global; randomness comes in as a numpy Generator.
"""
