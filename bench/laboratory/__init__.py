"""The laboratory: methods side by side over nights of a fleet, by accuracy and by decisions."""
