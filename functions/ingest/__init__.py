"""The queue's consumer: SQS messages in, Parquet partitions and rejected lines out."""
