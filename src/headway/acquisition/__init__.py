"""Acquisitions and feasibility as log-terms of the posterior, each with its derivatives."""
