"""What the template for a local AWS says otherwise than the deployed one, and nothing else does.

A local AWS runs functions on the interpreter of this machine, so bundles are built for that. Its
ECS records tasks and runs none: what runs them here starts the recorded command with the recorded
environment, which is why nothing of the task's definition differs but its processor and its code.
"""

from typing import Final

DIFFERENCES: Final = frozenset(
    {
        ("AWS::Lambda::Function", "Runtime"),
        ("AWS::Lambda::Function", "Architectures"),
        ("AWS::Lambda::Function", "Code.S3Key"),
        ("AWS::ECS::TaskDefinition", "RuntimePlatform.CpuArchitecture"),
        # The name of the bundle is its content's: where the task fetches it, and may.
        ("AWS::ECS::TaskDefinition", "ContainerDefinitions.Environment.LEAP_CODE"),
        ("AWS::IAM::Role", "Policies.PolicyDocument.Statement.Resource"),
    }
)
"""Type of resource, and path of a property in it."""
