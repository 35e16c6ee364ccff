"""The rank function: a ranking request in, over a function URL or by invocation, an answer out."""
