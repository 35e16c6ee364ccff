"""Estimators: from a feature matrix and measured values to a model that serves."""
