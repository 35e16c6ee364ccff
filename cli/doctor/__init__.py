"""What `leap doctor` looks at: a store's part of a stage, and AWS's part. Nothing here writes."""
