"""Tests of the consensus of several annotators."""
