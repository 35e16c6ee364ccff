"""The CDK app that deploys LEAP to an AWS account. It knows asset folders, never their code."""
